//! Tables 4, 6, 7 and 9 and Figs. 3 and 4 of DPad-HE (Tang, Zheng, Fan, Zhou, Lin and Jing, CCS
//! 2024) from measurements of other programs.

use bellerophon_mlwe::{RelinStrategy, paper::DPad};

use super::measured::{Chain, Measured};
use super::page::{Table, columns, ms};
use common::program::Failure;

/// The page of these tables.
pub const PAGE: &str = "dpad.md";

/// The mark of a missing measurement.
const NONE: &str = "-";

const MIB: f64 = 1048576.0;

/// Table 4 of the paper: milliseconds and keys in MB, of ModHE and DPad.
const PAPER_4: [(f64, f64, f64, f64); 7] = [
    (49.0, 39.0, 35.0, 24.0),
    (242.0, 124.0, 210.0, 106.0),
    (772.0, 325.0, 859.0, 344.0),
    (2049.0, 737.0, 2559.0, 793.0),
    (5676.0, 1328.0, 5874.0, 1696.0),
    (8173.0, 2066.0, 11970.0, 2758.0),
    (19060.0, 3337.0, 23388.0, 5234.0),
];

/// Ratios of Table 4 as printed.
const PAPER_4_RATIOS: [&str; 7] = ["1.26", "1.95", "2.37", "2.78", "4.27", "3.95", "5.71"];

/// Tables 6 and 7 of the paper: milliseconds of one switch and of DPad, rank 1 over DPad, MB of one
/// switch and of DPad.
const PAPER_6: [[&str; 5]; 6] = [
    ["301", "-", "", "137.5", "-"],
    ["429", "317", "0.95", "309.4", "166.9"],
    ["772", "325", "0.93", "859.4", "343.8"],
    ["2482", "-", "", "1155.0", "-"],
    ["3718", "1990", "1.25", "2598.75", "1214.3"],
    ["6645", "2030", "1.22", "7218.7", "2010.9"],
];

/// Table 9 of the paper: set, logarithm of the dimension, rank, M to R, R to M, key switch.
const PAPER_9: [(DPad, u32, usize, [&str; 3]); 4] = [
    (DPad::SetI, 15, 2, ["253", "15", "245"]),
    (DPad::SetI, 15, 4, ["517", "14", "245"]),
    (DPad::SetIV, 16, 2, ["2285", "62", "2234"]),
    (DPad::SetIV, 16, 4, ["4439", "51", "2234"]),
];

/// Fig. 3 of the paper: time with rank reduction over that of ModHE.
const PAPER_3: [(&str, &str); 3] = [("SetII", "0.76"), ("SetIII", "0.49"), ("SetVI", "0.36")];

/// Fig. 4: set, rotations, temporary rank.
const FIG_4: [(&str, usize, Option<usize>); 14] = [
    ("III", 1, None),
    ("III", 2, None),
    ("III", 4, None),
    ("III", 6, None),
    ("III", 1, Some(5)),
    ("III", 2, Some(5)),
    ("III", 4, Some(5)),
    ("III", 6, Some(5)),
    ("III", 6, Some(6)),
    ("III", 6, Some(8)),
    ("I", 1, None),
    ("I", 6, None),
    ("I", 1, Some(2)),
    ("I", 6, Some(2)),
];

/// All tables.
pub fn tables(measured: &Measured) -> Result<Vec<Table>, Failure> {
    let (times, keys) = by_rank(measured)?;
    let (sets, set_keys) = by_set(measured)?;
    Ok(vec![
        times,
        keys,
        sets,
        set_keys,
        conversions(measured),
        chains(&measured.chains),
        rotations(measured),
    ])
}

fn table(
    name: &'static str,
    title: &'static str,
    names: &'static str,
    rows: Vec<Vec<String>>,
) -> Table {
    Table { page: PAGE, name, title, columns: columns(names), rows }
}

fn or_none(text: Option<String>) -> String {
    text.unwrap_or_else(|| NONE.into())
}

fn time(ms_: Option<f64>) -> String {
    or_none(ms_.map(ms))
}

fn ratio(x: Option<f64>, y: Option<f64>) -> String {
    or_none(x.zip(y).map(|(x, y)| format!("{:.2}", x / y)))
}

/// Bytes in MiB.
fn mib(bytes: Option<f64>) -> String {
    or_none(bytes.map(|bytes| match bytes / MIB {
        size if size >= 99.95 => format!("{size:.0}"),
        size if size >= 9.995 => format!("{size:.1}"),
        size => format!("{size:.2}"),
    }))
}

/// The temporary rank of a strategy, if it is not direct.
fn described(route: &RelinStrategy) -> String {
    let mut parts = vec![];
    if route.factor() > 1 {
        parts.push(format!("in the ring of degree 2^{}", route.work().spec().degree.ilog2()));
    }
    if route.is_raised() {
        let p = &route.raised().spec().p;
        let bits = p.iter().map(|p| p.ilog2() + 1).max().unwrap_or(0);
        parts.push(format!("rank {}, {} primes of {bits}", route.raised().spec().rank, p.len()));
    }
    if parts.is_empty() { "direct".into() } else { parts.join(", ") }
}

/// The strategy that is chosen for the top level.
fn chosen(set: DPad) -> Result<RelinStrategy, Failure> {
    let params = set.relin_strategy()?.params().clone();
    RelinStrategy::choose(&params, params.q().limbs()).map_err(Failure::run)
}

/// Table 4: times, and keys.
fn by_rank(measured: &Measured) -> Result<(Table, Table), Failure> {
    let (mut times, mut keys) = (vec![], vec![]);
    for ((set, paper), printed) in DPad::TABLE_3.into_iter().zip(PAPER_4).zip(PAPER_4_RATIOS) {
        let row = |strategy| measured.timed(&format!("mlwe/{}/{strategy}", set.name()));
        let (direct, dpad, best) = (row("direct"), row("dpad"), row("chosen"));
        let star = if direct.is_some_and(|row| row.key_shared) { " *" } else { "" };
        let [direct_ms, dpad_ms, best_ms] = [direct, dpad, best].map(|r| r.map(|r| r.median_ms));
        let route = set.relin_strategy()?;
        let limbs = route.params().q().limbs();
        let here = route.cost(limbs)?;
        let one = RelinStrategy::direct(route.params()).cost(limbs)?;
        times.push(vec![
            set.rank().to_string(),
            paper.0.to_string(),
            paper.1.to_string(),
            printed.into(),
            time(direct_ms) + star,
            time(dpad_ms),
            ratio(direct_ms, dpad_ms) + star,
            format!("{:.2}", one.butterflies / here.butterflies),
            format!("{:.2}", one.products / here.products),
            time(best_ms),
            ratio(direct_ms, best_ms) + star,
        ]);
        let [one, here, best] =
            [direct, dpad, best].map(|row| row.and_then(|row| row.key_bytes).map(|b| b as f64));
        keys.push(vec![
            set.rank().to_string(),
            paper.2.to_string(),
            paper.3.to_string(),
            mib(one),
            mib(here),
            ratio(here, Some(paper.3 * MIB)),
            mib(best),
            ratio(best, Some(paper.3 * MIB)),
            described(&chosen(set)?),
        ]);
    }
    let times = table(
        "dpad-table4",
        "Table 4: one degree, rank by rank",
        "r | paper: ModHE, ms | DPad, ms | ratio | here: direct, ms | DPad, \
             ms | ratio | ratio of butterflies, counted | ratio of keys read, counted | chosen, \
             ms | direct / chosen",
        times,
    );
    let keys = table(
        "dpad-table4-keys",
        "Table 4: sizes of keys in MiB",
        "r | paper: ModHE | DPad | here: direct | DPad | of the paper's DPad \
             | chosen | of the paper's DPad | chosen route",
        keys,
    );
    Ok((times, keys))
}

/// Tables 6 and 7.
fn by_set(measured: &Measured) -> Result<(Table, Table), Failure> {
    let (mut times, mut keys) = (vec![], vec![]);
    let mut rank1 = (None, None);
    for (set, paper) in DPad::TABLE_5.into_iter().zip(PAPER_6) {
        let row = |strategy| measured.timed(&format!("mlwe/{}/{strategy}", set.name()));
        let one = row(if set.rank() == 1 { "rank1" } else { "direct" });
        let [one, dpad, best] = [one, row("dpad"), row("chosen")];
        let name = set.name().trim_start_matches("Set").to_string();
        let [one_ms, dpad_ms, best_ms] = [one, dpad, best].map(|row| row.map(|row| row.median_ms));
        let [one_key, dpad_key, best_key] =
            [one, dpad, best].map(|row| row.and_then(|row| row.key_bytes).map(|b| b as f64));
        let is_rank1 = set.rank() == 1;
        if is_rank1 {
            rank1 = (one_ms, one_key);
        }
        let own = |text: String| if is_rank1 { "1".into() } else { text };
        times.push(vec![
            name.clone(),
            set.rank().to_string(),
            paper[0].into(),
            paper[1].into(),
            paper[2].into(),
            time(one_ms),
            time(dpad_ms),
            time(best_ms),
            own(ratio(rank1.0, dpad_ms)),
            own(ratio(rank1.0, best_ms)),
        ]);
        keys.push(vec![
            name,
            set.rank().to_string(),
            paper[3].into(),
            paper[4].into(),
            mib(one_key),
            mib(dpad_key),
            mib(best_key),
            if is_rank1 { NONE.into() } else { described(&chosen(set)?) },
            own(ratio(dpad_key, rank1.1)),
            own(ratio(best_key, rank1.1)),
        ]);
    }
    let times = table(
        "dpad-table6",
        "Table 6: one dimension, split into ranks",
        "set | r | paper: one switch, ms | DPad, ms | rank 1 / DPad | here: \
             one switch, ms | DPad, ms | chosen, ms | rank 1 / DPad | rank 1 / chosen",
        times,
    );
    let keys = table(
        "dpad-table7",
        "Table 7: sizes of relinearisation keys in MiB",
        "set | r | paper: one switch | DPad | here: one switch | DPad | \
             chosen | chosen route | DPad / rank 1 | chosen / rank 1",
        keys,
    );
    Ok((times, keys))
}

/// Table 9. One run measures rank 4 at `2^16` both ways: criterion's times fill in for missing rows
/// of `figures`.
fn conversions(measured: &Measured) -> Table {
    let row = |(set, log, rank, paper): (DPad, u32, usize, [&str; 3])| {
        let find = |operation: &str, at: usize| {
            let figure = format!("mlwe/{operation}/{}/r{at}", 1usize << log);
            let bench = || measured.bench(&format!("mlwe/{}/{operation}/r={at}", set.name()));
            measured.timed(&figure).map(|row| row.median_ms).or_else(bench)
        };
        let paper = paper.map(String::from);
        let here = [
            find("from_rank", rank),
            find("embed", rank),
            find("to_rank", rank),
            find("rlwe_key_switch", 1),
        ];
        let head = vec![format!("2^{log}"), rank.to_string()];
        head.into_iter().chain(paper).chain(here.map(time)).collect()
    };
    table(
        "dpad-table9",
        "Table 9: between rank r and RLWE",
        "N | r | paper: M to R, ms | R to M, ms | key switch, ms | here: M \
             to R, ms | of it Embed, ms | R to M, ms | key switch, ms",
        PAPER_9.into_iter().map(row).collect(),
    )
}

/// Fig. 3.
fn chains(chains: &[Chain]) -> Table {
    let mut sorted: Vec<&Chain> = chains.iter().collect();
    let place = |chain: &Chain| DPad::TABLE_5.iter().position(|set| set.name() == chain.set);
    sorted.sort_by_key(|chain| (place(chain), chain.strategy != "direct", chain.rank_reduction));
    let mut rlwe = None;
    let mut rows = vec![];
    for chain in sorted {
        let is_rlwe = chain.strategy == "rank1";
        if is_rlwe {
            rlwe = Some(chain.seconds_total);
        }
        let same = |other: &&Chain| {
            other.set == chain.set
                && other.strategy == "direct"
                && other.rank_reduction == chain.rank_reduction
        };
        let direct = chains.iter().find(same).map(|other| other.seconds_total);
        let ranks: Vec<String> =
            chain.ranks.iter().map(|(rank, level)| format!("{rank} from {level}")).collect();
        let paper = PAPER_3.into_iter().find(|row| row.0 == chain.set);
        let paper = paper.filter(|_| chain.strategy == "dpad" && chain.rank_reduction);
        let seconds = chain.seconds_total;
        let name = match chain.strategy.as_str() {
            "rank1" => "RLWE",
            "dpad" => "DPad",
            other => other,
        };
        rows.push(vec![
            chain.set.trim_start_matches("Set").into(),
            name.into(),
            if chain.rank_reduction { "yes" } else { "no" }.into(),
            ranks.join(", "),
            if seconds < 9.995 { format!("{seconds:.2}") } else { format!("{seconds:.1}") },
            ms(1e3 * chain.seconds_per_multiplication),
            ms(1e3 * chain.seconds_reducing),
            ratio(Some(seconds), rlwe),
            if is_rlwe { NONE.into() } else { ratio(Some(seconds), direct) },
            paper.map_or(String::new(), |row| row.1.into()),
            mib(Some(chain.key_bytes as f64)),
            format!("{:.1}", chain.multiplication_bits_l2),
            format!("{:.1}", chain.error_bits_worst),
        ]);
    }
    table(
        "dpad-fig3",
        "Fig. 3: squaring through all levels",
        "set | products | rank reduction | rank, from level | all levels, s \
             | a product, ms | reductions, ms | of RLWE's time | of direct's time | of it in the \
             paper | keys, MiB | bits by the l2 norm | bits in the worst slot",
        rows,
    )
}

/// Fig. 4.
fn rotations(measured: &Measured) -> Table {
    let find = |set: &str, count: usize, rank: Option<usize>| {
        let at = rank.map_or("own_rank".into(), |rank| format!("rank={rank}"));
        measured.bench(&format!("mlwe/Set{set}/rotations={count}/{at}"))
    };
    // The bench of the key switch in Table 9 is one rotation of set I.
    let one = || measured.bench("mlwe/SetI/rlwe_key_switch/r=1");
    let find = |set: &str, count: usize, rank: Option<usize>| {
        let same = (set, count, rank) == ("I", 1, None);
        find(set, count, rank).or_else(|| if same { one() } else { None })
    };
    let row = |(set, count, rank): (&str, usize, Option<usize>)| {
        let here = find(set, count, rank);
        let at = rank.map_or("own rank".into(), |rank| format!("rank {rank}"));
        vec![
            set.to_string(),
            count.to_string(),
            at,
            time(here),
            ratio(find(set, count, None), here),
        ]
    };
    table(
        "dpad-fig4",
        "Fig. 4: rotations one after the other",
        "set | rotations | at | ms | own / this, measured",
        FIG_4.into_iter().map(row).collect(),
    )
}
