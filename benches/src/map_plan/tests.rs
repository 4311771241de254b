//! The questions and answers of the program `map_plan` on a few cells that are made up.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bellerophon::{Engine, Prediction};
use serde_json::Value;

use super::cells::{self, Cell, Key};
use super::measure::Planned;
use super::plot::Curves;
use super::subject::Subject;
use super::summary::Summary;

/// A cell of the sigmoid to 10 bits that is planned for some seconds, or not served.
fn planned(preset: &str, engine: Engine, count: usize, seconds: Option<f64>) -> Planned {
    let key = Key {
        preset: preset.into(),
        engine,
        function: Subject::Sigmoid,
        bits: 10,
        count,
        threads: 1,
    };
    let prediction = seconds.map(|seconds| Prediction {
        seconds,
        log2_error: -11.0,
        certified: true,
        levels: 4,
        output_level: 2,
        key_bytes: 1,
        bootstrapped: false,
        detail: "of the test".into(),
        order: None,
        accuracy: None,
    });
    let prediction = prediction.ok_or_else(|| "not served".to_string());
    Planned { key, prediction }
}

/// The measured cell of a planned one.
fn measured(planned: &Planned, seconds: f64, log2_error: f64) -> (Key, Cell) {
    let cell = Cell {
        key: planned.key.clone(),
        refusal: None,
        seconds: Some(3.0 * seconds),
        cpu_seconds: Some(seconds),
        measured_count: planned.key.count,
        log2_error: Some(log2_error),
    };
    (planned.key.clone(), cell)
}

fn json(summary: &Summary) -> Value {
    serde_json::to_value(summary).unwrap()
}

#[test]
fn questions_span_all_presets_and_engines() {
    let all = [
        // 16 values: the pick is 1.2 times as slow as the best, and NTRU does not count.
        planned("one", Engine::Poly, 16, Some(1.0)),
        planned("two", Engine::Corrected, 16, Some(1.1)),
        planned("two", Engine::Ntru, 16, Some(0.1)),
        // 256 values: the pick is 2.5 times as slow, and its time is more than twice off.
        planned("one", Engine::Poly, 256, Some(1.0)),
        planned("two", Engine::Corrected, 256, Some(2.0)),
        // 4096 values: one pair is not measured.
        planned("one", Engine::Poly, 4096, Some(1.0)),
        planned("two", Engine::Corrected, 4096, Some(9.0)),
        // 32768 values: nothing serves.
        planned("one", Engine::Poly, 32768, None),
    ];
    let times =
        [(1.2, -12.0), (1.0, -12.0), (0.1, -10.0), (3.0, -12.0), (1.2, -12.0), (1.0, -12.0)];
    let known: BTreeMap<Key, Cell> = all
        .iter()
        .zip(times)
        .map(|(cell, (seconds, log2_error))| measured(cell, seconds, log2_error))
        .collect();
    let summary = json(&Summary::new(&all, &known));
    let number = |name: &str| summary[name].as_f64().unwrap();
    assert_eq!(["cells", "served", "measured"].map(number), [8.0, 7.0, 6.0]);
    assert_eq!(["questions", "open", "unserved", "near"].map(number), [2.0, 1.0, 1.0, 0.5]);
    let length = |name: &str| summary[name].as_array().unwrap().len();
    let lists = ["missed", "times_off", "errors_above", "failed", "waiting"];
    assert_eq!(lists.map(length), [1, 1, 1, 0, 1]);
    assert!((number("farthest") - 3.0).abs() < 1e-9);
    assert!(summary["missed"][0].as_str().unwrap().contains("| 256 | poly of one"));
    assert!(summary["errors_above"][0].as_str().unwrap().contains("ntru of two"));
    let ratios: Vec<f64> = [0, 1].map(|i| summary["answers"][i]["ratio"].as_f64().unwrap()).into();
    assert!((ratios[0] - 1.2).abs() < 1e-9 && (ratios[1] - 2.5).abs() < 1e-9, "{ratios:?}");
}

#[test]
fn what_was_planned_and_refused_is_told() {
    let all = [planned("one", Engine::Fbt, 16, Some(1.0))];
    let refused = Cell::refused(all[0].key.clone(), "no keys".into());
    let known = BTreeMap::from([(all[0].key.clone(), refused)]);
    let summary = Summary::new(&all, &known);
    assert!(json(&summary)["failed"][0].as_str().unwrap().contains("no keys"));
    assert!(summary.to_string().contains("planned runs that failed: 1"));
}

#[test]
fn cells_are_read_again_and_drawn() {
    let folder = std::env::temp_dir();
    let path = |name: &str| -> PathBuf {
        folder.join(format!("bellerophon-map-plan-{}-{name}", std::process::id()))
    };
    let (file, plot) = (path("cells.jsonl"), path("plot.svg"));
    assert!(cells::read(&file).unwrap().is_empty());
    let mut known = Vec::new();
    for (engine, times) in [(Engine::Fbt, [8.0, 8.0, 8.0]), (Engine::Corrected, [2.0, 5.0, 65.0])] {
        for (count, seconds) in [16, 64, 1024].into_iter().zip(times) {
            let cell = measured(&planned("one", engine, count, Some(1.0)), seconds, -12.0).1;
            cells::append(&file, &cell).unwrap();
            known.push(cell);
        }
    }
    // A later line of the same cell replaces the earlier one.
    let slower = measured(&planned("one", Engine::Fbt, 16, Some(1.0)), 9.0, -12.0).1;
    cells::append(&file, &slower).unwrap();
    let read = cells::read(&file).unwrap();
    assert_eq!(read.len(), 6);
    assert_eq!(read[&slower.key].time(), Some(9.0));
    let curves = Curves::new(Subject::Sigmoid, 10, &known);
    let crossovers = curves.crossovers();
    // A second, and one for every 16 values.
    let [(Engine::Fbt, Engine::Corrected, count)] = crossovers[..] else {
        panic!("{crossovers:?}");
    };
    assert!((count - 112.0).abs() < 1e-6, "{count}");
    // Fewer values than were measured: half a second, and as much again for each.
    let few = [(16, 8.5), (256, 128.5)].map(|(count, seconds)| {
        measured(&planned("one", Engine::Rgsw, count, Some(1.0)), seconds, -12.0).1
    });
    let flat = known.iter().filter(|cell| cell.key.engine == Engine::Fbt);
    let [(Engine::Fbt, Engine::Rgsw, count)] =
        Curves::new(Subject::Sigmoid, 10, flat.chain(&few)).crossovers()[..]
    else {
        panic!("one crossover");
    };
    assert!((count - 15.0).abs() < 1e-6, "{count}");
    curves.draw(&plot).unwrap();
    assert!(std::fs::read_to_string(&plot).unwrap().contains("corrected"));
    assert!(Curves::new(Subject::Relu, 10, &known).draw(&plot).is_err());
    std::fs::remove_file(&file).unwrap();
    std::fs::remove_file(&plot).unwrap();
    std::fs::write(&file, "no cell\n").unwrap();
    assert!(cells::read(&file).is_err());
    std::fs::remove_file(&file).unwrap();
}
