//! Tables 4, 6, 7 and 9 and Figs. 3 and 4 of DPad-HE (Tang, Zheng, Fan, Zhou, Lin and Jing, CCS
//! 2024) from measurements of other programs.

use bellerophon::mlwe::{RelinStrategy, paper::DPad};

use super::page::{Table, ms};
use super::reports::{Chain, Measured, Product};
use common::program::Failure;

/// The page of these tables.
pub const PAGE: &str = "dpad.md";

/// The mark of a missing measurement.
const NONE: &str = "-";

const MIB: f64 = 1048576.0;

/// What a row of the paper's Table 4 prints.
type PaperTimes = (f64, f64, f64, f64);

/// Table 4 of the paper: milliseconds and keys in MB, of ModHE and DPad.
const PAPER_4: [PaperTimes; 7] = [
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

/// Table 6 of the paper: milliseconds of one switch and of DPad, rank 1 over DPad.
const PAPER_6: [&str; 6] = [
    "301 | - | ",
    "429 | 317 | 0.95",
    "772 | 325 | 0.93",
    "2482 | - | ",
    "3718 | 1990 | 1.25",
    "6645 | 2030 | 1.22",
];

/// Table 7 of the paper: MB of one switch and of DPad.
const PAPER_7: [&str; 6] = [
    "137.5 | -",
    "309.4 | 166.9",
    "859.4 | 343.8",
    "1155.0 | -",
    "2598.75 | 1214.3",
    "7218.7 | 2010.9",
];

/// Table 9 of the paper: logarithm of the dimension, rank; M to R, R to M, key switch.
const PAPER_9: [(u32, usize, &str); 4] = [
    (15, 2, "253 | 15 | 245"),
    (15, 4, "517 | 14 | 245"),
    (16, 2, "2285 | 62 | 2234"),
    (16, 4, "4439 | 51 | 2234"),
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
    Ok(vec![
        products_by_rank(measured)?,
        keys_by_rank(measured)?,
        products_by_set(measured),
        keys_by_set(measured)?,
        conversions(measured),
        chains(&measured.chains),
        rotations(measured),
    ])
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
    time(bytes.map(|bytes| bytes / MIB))
}

/// The temporary rank of the strategy that is chosen for the top level, if it is not direct.
fn chosen(set: DPad) -> Result<String, Failure> {
    let params = set.relin_strategy()?.params().clone();
    let route = RelinStrategy::choose(&params, params.q().limbs())?;
    let mut parts = vec![];
    if route.factor() > 1 {
        parts.push(format!("in the ring of degree 2^{}", route.work().spec().degree.ilog2()));
    }
    if route.is_raised() {
        let p = &route.raised().spec().p;
        let bits = p.iter().map(|p| p.ilog2() + 1).max().unwrap_or(0);
        parts.push(format!("rank {}, {} primes of {bits}", route.raised().spec().rank, p.len()));
    }
    Ok(if parts.is_empty() { "direct".into() } else { parts.join(", ") })
}

/// Table 4, times.
fn products_by_rank(measured: &Measured) -> Result<Table, Failure> {
    let row = |((set, paper), printed): ((DPad, PaperTimes), &str)| {
        let [direct, dpad, best] =
            ["direct", "dpad", "chosen"].map(|strategy| measured.product(set, strategy));
        let route = set.relin_strategy()?;
        let limbs = route.params().q().limbs();
        let here = route.cost(limbs)?;
        let one = RelinStrategy::direct(route.params()).cost(limbs)?;
        let butterflies = one.butterflies / here.butterflies;
        let products = one.products / here.products;
        let star = if direct.key_shared { " *" } else { "" };
        let [of_dpad, of_best] = [dpad, best].map(|product| ratio(direct.ms, product.ms));
        let [direct, dpad, best] = [direct, dpad, best].map(|product| time(product.ms));
        let (rank, (modhe, paper, ..)) = (set.rank(), paper);
        Ok(format!(
            "{rank} | {modhe} | {paper} | {printed} | {direct}{star} | {dpad} | {of_dpad}{star} | \
             {butterflies:.2} | {products:.2} | {best} | {of_best}{star}"
        ))
    };
    let rows = DPad::TABLE_3.into_iter().zip(PAPER_4).zip(PAPER_4_RATIOS).map(row);
    Ok(Table::new(
        PAGE,
        "dpad-table4",
        "Table 4: one degree, rank by rank",
        "r | paper: ModHE, ms | DPad, ms | ratio | here: direct, ms | DPad, ms | ratio | ratio of \
         butterflies, counted | ratio of keys read, counted | chosen, ms | direct / chosen",
        rows.collect::<Result<Vec<_>, Failure>>()?,
    ))
}

/// Table 4, keys.
fn keys_by_rank(measured: &Measured) -> Result<Table, Failure> {
    let row = |(set, (.., modhe, paper)): (DPad, PaperTimes)| {
        let keys = ["direct", "dpad", "chosen"].map(|way| measured.product(set, way).key);
        let [_, of_dpad, of_best] = keys.map(|key| ratio(key, Some(paper * MIB)));
        let [direct, dpad, best] = keys.map(mib);
        let (rank, route) = (set.rank(), chosen(set)?);
        Ok(format!(
            "{rank} | {modhe} | {paper} | {direct} | {dpad} | {of_dpad} | {best} | {of_best} | \
             {route}"
        ))
    };
    let rows = DPad::TABLE_3.into_iter().zip(PAPER_4).map(row);
    Ok(Table::new(
        PAGE,
        "dpad-table4-keys",
        "Table 4: sizes of keys in MiB",
        "r | paper: ModHE | DPad | here: direct | DPad | of the paper's DPad | chosen | of the \
         paper's DPad | chosen route",
        rows.collect::<Result<Vec<_>, Failure>>()?,
    ))
}

/// The sets of Table 5: name and rank, the products by one switch, by DPad and as chosen, and that
/// of rank 1 and the same dimension.
fn sets(measured: &Measured) -> impl Iterator<Item = (DPad, String, [Product; 3], Product)> {
    let mut rank_1 = Product::default();
    DPad::TABLE_5.into_iter().map(move |set| {
        let one = if set.rank() == 1 { "rank1" } else { "direct" };
        let products = [one, "dpad", "chosen"].map(|strategy| measured.product(set, strategy));
        if set.rank() == 1 {
            rank_1 = products[0];
        }
        let name = format!("{} | {}", set.name().trim_start_matches("Set"), set.rank());
        (set, name, products, rank_1)
    })
}

/// Table 6.
fn products_by_set(measured: &Measured) -> Table {
    let mut rows = vec![];
    for ((set, name, products, rank_1), paper) in sets(measured).zip(PAPER_6) {
        let [_, of_dpad, of_best] = products.map(|product| match set.rank() {
            1 => "1".into(),
            _ => ratio(rank_1.ms, product.ms),
        });
        let [one, dpad, best] = products.map(|product| time(product.ms));
        rows.push(format!("{name} | {paper} | {one} | {dpad} | {best} | {of_dpad} | {of_best}"));
    }
    Table::new(
        PAGE,
        "dpad-table6",
        "Table 6: one dimension, split into ranks",
        "set | r | paper: one switch, ms | DPad, ms | rank 1 / DPad | here: one switch, ms | DPad, \
         ms | chosen, ms | rank 1 / DPad | rank 1 / chosen",
        rows,
    )
}

/// Table 7.
fn keys_by_set(measured: &Measured) -> Result<Table, Failure> {
    let mut rows = vec![];
    for ((set, name, products, rank_1), paper) in sets(measured).zip(PAPER_7) {
        let keys = products.map(|product| product.key);
        let [one, dpad, best] = keys.map(mib);
        let [_, of_dpad, of_best] = keys.map(|key| ratio(key, rank_1.key));
        rows.push(match set.rank() {
            1 => format!("{name} | {paper} | {one} | {dpad} | {best} | {NONE} | 1 | 1"),
            _ => {
                let route = chosen(set)?;
                format!(
                    "{name} | {paper} | {one} | {dpad} | {best} | {route} | {of_dpad} | {of_best}"
                )
            }
        });
    }
    Ok(Table::new(
        PAGE,
        "dpad-table7",
        "Table 7: sizes of relinearisation keys in MiB",
        "set | r | paper: one switch | DPad | here: one switch | DPad | chosen | chosen route | \
         DPad / rank 1 | chosen / rank 1",
        rows,
    ))
}

/// Table 9.
fn conversions(measured: &Measured) -> Table {
    let row = |(log, rank, paper): (u32, usize, &str)| {
        let find = |operation: &str, rank: usize| {
            time(measured.ms(&format!("mlwe/{operation}/{}/r{rank}", 1usize << log)))
        };
        let [from, embed, to] = ["from_rank", "embed", "to_rank"].map(|way| find(way, rank));
        let switch = find("rlwe_key_switch", 1);
        format!("2^{log} | {rank} | {paper} | {from} | {embed} | {to} | {switch}")
    };
    Table::new(
        PAGE,
        "dpad-table9",
        "Table 9: between rank r and RLWE",
        "N | r | paper: M to R, ms | R to M, ms | key switch, ms | here: M to R, ms | of it Embed, \
         ms | R to M, ms | key switch, ms",
        PAPER_9.into_iter().map(row),
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
        let seconds = chain.seconds_total;
        if chain.strategy == "rank1" {
            rlwe = Some(seconds);
        }
        let direct = chains.iter().find(|other| {
            other.set == chain.set
                && other.strategy == "direct"
                && other.rank_reduction == chain.rank_reduction
        });
        let ranks = chain.ranks.iter().map(|(rank, level)| format!("{rank} from {level}"));
        let ranks = ranks.collect::<Vec<_>>().join(", ");
        let paper = PAPER_3.into_iter().find(|row| row.0 == chain.set);
        let paper = paper.filter(|_| chain.strategy == "dpad" && chain.rank_reduction);
        let paper = paper.map_or("", |row| row.1);
        let name = match chain.strategy.as_str() {
            "rank1" => "RLWE",
            "dpad" => "DPad",
            other => other,
        };
        let set = chain.set.trim_start_matches("Set");
        let reduced = if chain.rank_reduction { "yes" } else { "no" };
        let all = if seconds < 9.995 { format!("{seconds:.2}") } else { format!("{seconds:.1}") };
        let [each, reducing] =
            [chain.seconds_per_multiplication, chain.seconds_reducing].map(|s| ms(1e3 * s));
        let of_rlwe = ratio(Some(seconds), rlwe);
        let of_direct = ratio(Some(seconds), direct.map(|other| other.seconds_total));
        let keys = mib(Some(chain.key_bytes as f64));
        let (l2, worst) = (chain.multiplication_bits_l2, chain.error_bits_worst);
        rows.push(format!(
            "{set} | {name} | {reduced} | {ranks} | {all} | {each} | {reducing} | {of_rlwe} | \
             {of_direct} | {paper} | {keys} | {l2:.1} | {worst:.1}"
        ));
    }
    Table::new(
        PAGE,
        "dpad-fig3",
        "Fig. 3: squaring through all levels",
        "set | products | rank reduction | rank, from level | all levels, s | a product, ms | \
         reductions, ms | of RLWE's time | of direct's time | of it in the paper | keys, MiB | \
         bits by the l2 norm | bits in the worst slot",
        rows,
    )
}

/// Fig. 4.
fn rotations(measured: &Measured) -> Table {
    let find = |set: &str, count: usize, rank: Option<usize>| {
        let at = rank.map_or("own_rank".into(), |rank| format!("rank={rank}"));
        measured.ms(&format!("mlwe/Set{set}/rotations={count}/{at}"))
    };
    let row = |(set, count, rank): (&str, usize, Option<usize>)| {
        let here = find(set, count, rank);
        let (of_own, here) = (ratio(find(set, count, None), here), time(here));
        let at = rank.map_or("own rank".into(), |rank| format!("rank {rank}"));
        format!("{set} | {count} | {at} | {here} | {of_own}")
    };
    Table::new(
        PAGE,
        "dpad-fig4",
        "Fig. 4: rotations one after the other",
        "set | rotations | at | ms | own / this, measured",
        FIG_4.into_iter().map(row),
    )
}
