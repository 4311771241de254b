//! Text that came from outside, as people may see it.

/// The largest number of characters of a line.
const LONGEST_LINE: usize = 1000;

/// Text from outside on one line, truncated, with control characters, bidirectional marks and
/// other invisible characters escaped, so that no terminal obeys it and no reader is misled.
pub fn line(words: &str) -> String {
    let mut line = String::new();
    for c in words.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST_LINE) {
        match is_plain(c) {
            true => line.push(c),
            false => line.extend(c.escape_unicode()),
        }
    }
    line
}

/// Whether a terminal prints a character visibly and does not change the text around it.
pub fn is_plain(c: char) -> bool {
    let hidden = matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}');
    !c.is_control() && !hidden
}
