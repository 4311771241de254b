//! What the programs in `examples/` compute in the clear: trees, clusters, networks, images.

#[path = "../apps/decision_tree/cart.rs"]
mod cart;
#[path = "../apps/neural_layer/digits.rs"]
mod digits;
#[path = "../apps/max_pooling/image.rs"]
mod image;
#[path = "../apps/digits/images.rs"]
mod images;
#[path = "../apps/digits/integers.rs"]
mod integers;
#[path = "../apps/neural_layer/network.rs"]
mod network;
#[path = "../apps/decision_tree/plan.rs"]
mod plan;
#[path = "../apps/kmeans/points.rs"]
mod points;
#[path = "../apps/kmeans/score.rs"]
mod score;

use cart::{Limits, Node, Tree};
use common::{data::load_table, lloyd, network::best, program::Failure, random};
use plan::Plan;

/// The iris table: features, species.
fn iris() -> (Vec<Vec<f64>>, Vec<usize>) {
    let table = load_table(None, &[]).unwrap();
    let (features, species) = table.split(table.place("species").unwrap());
    (features, species.into_iter().map(|class| class as usize).collect())
}

const EXACT: Limits = Limits { depth: 20, inner: 100, noise: 0.0 };

#[test]
fn trees_split_where_the_classes_part() {
    let (rows, classes) = iris();
    let tree = Tree::train(&rows, &classes, EXACT);
    // The well-known first split: setosa has petals below 2.45 cm, or narrower than 0.8.
    let Node::Inner { test, left, .. } = tree.nodes[0] else { panic!("a root with a test") };
    assert!(
        (test.feature == 2 && (test.threshold - 2.45).abs() < 1e-9)
            || (test.feature == 3 && (test.threshold - 0.8).abs() < 1e-9),
        "{test:?}"
    );
    assert_eq!(tree.nodes[left], Node::Leaf { class: 0 });
    // Without limits every row is right, except indistinguishable rows.
    let wrong = rows.iter().zip(&classes).filter(|(row, class)| tree.classify(row) != **class);
    assert_eq!(wrong.count(), 0);
    let small = Tree::train(&rows, &classes, Limits { depth: 2, ..EXACT });
    assert!(small.depth(0) <= 2 && small.inner() <= 3);
    let stump = Tree::train(&rows, &classes, Limits { inner: 1, ..EXACT });
    assert_eq!((stump.inner(), stump.depth(0)), (1, 1));
    assert_eq!(Tree::train(&rows[..50], &classes[..50], EXACT).nodes.len(), 1);
}

#[test]
fn noise_moves_thresholds_into_gaps() {
    // Between 1.0 and 1.01 the classes part best, between 1.01 and 3.0 nearly as well.
    let values = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.01, 3.0, 3.2, 3.4, 3.6, 3.8];
    let rows: Vec<Vec<f64>> = values.iter().map(|&v| vec![v]).collect();
    let classes: Vec<usize> = values.iter().map(|&v| usize::from(v > 1.005)).collect();
    let threshold = |noise| {
        let limits = Limits { depth: 1, inner: 1, noise };
        match Tree::train(&rows, &classes, limits).nodes[0] {
            Node::Inner { test, .. } => test.threshold,
            Node::Leaf { .. } => panic!("a test separates the classes"),
        }
    };
    assert!((threshold(0.0) - 1.005).abs() < 1e-12);
    assert!((threshold(0.1) - 2.005).abs() < 1e-12);
}

#[test]
fn plans_say_what_trees_say_with_fewer_look_ups() {
    let (mut rows, mut classes) = iris();
    let mut rng = random::seeded(3);
    // Classes that no short tree separates.
    for (i, class) in classes.iter_mut().enumerate().step_by(7) {
        *class = (*class + i) % 4;
    }
    let tree = Tree::train(&rows, &classes, EXACT);
    assert!(tree.inner() > 20, "{}", tree.inner());
    rows.extend((0..500).map(|_| (0..4).map(|_| 4.0 + 2.0 * random::normal(&mut rng)).collect()));
    for capacity in [4, 8, 31, 56, 200] {
        let plan = Plan::new(&tree, capacity);
        for row in &rows {
            assert_eq!(plan.classify(row), tree.classify(row), "capacity {capacity}");
        }
        let size = |(i, block): (usize, &plan::Block)| block.size() * if i == 0 { 1 } else { 2 };
        assert!(plan.blocks.iter().enumerate().map(size).all(|size| size <= capacity));
    }
    assert!(Plan::new(&tree, 56).lookups() < 2 * tree.inner());
    assert!(Plan::new(&tree, 200).lookups() < Plan::new(&tree, 8).lookups());
}

#[test]
fn clusters_of_three_heaps_are_the_heaps() {
    let mut rng = random::seeded(7);
    let heaps = [[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]];
    let of: Vec<usize> = (0..90).map(|i| i % 3).collect();
    let point = |&heap: &usize| heaps[heap].map(|x| x + 0.3 * random::normal(&mut rng)).to_vec();
    let points: Vec<lloyd::Point> = of.iter().map(point).collect();
    let start = lloyd::start(&points, 3, &mut random::seeded(1));
    let history = lloyd::lloyd(&points, &start, 4);
    let inertias: Vec<f64> = history.iter().map(|c| lloyd::inertia(&points, c)).collect();
    assert!(inertias.is_sorted_by(|a, b| a >= b), "{inertias:?}");
    // Two coordinates of deviation 0.3: 90 * 2 * 0.09.
    assert!((inertias[3] / 16.2 - 1.0).abs() < 0.4, "{inertias:?}");
    let found = lloyd::assign(&points, &history[3]);
    assert_eq!(score::matched(&found, &of), 1.0);
    assert_eq!(score::adjusted_rand(&found, &of), 1.0);
    // A cluster without points lies at zero.
    assert_eq!(lloyd::means(&points[..1], &[1], 2)[0], [0.0, 0.0]);
}

#[test]
fn equal_points_are_counted_once() {
    let points = |values: &[[f64; 2]]| values.iter().map(|v| v.to_vec()).collect::<Vec<_>>();
    let refusal = |values: &[[f64; 2]], clusters| match points::check_distinct(
        "t",
        &points(values),
        clusters,
    ) {
        Err(Failure::Input(why)) => Some(why),
        found => found.map(|()| None).unwrap(),
    };
    let one = refusal(&[[0.1, 0.2]; 7], 2).unwrap();
    assert_eq!(one, "t: all points are equal: they are one cluster");
    let two = [[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0], [0.0, 1.0]];
    assert_eq!(refusal(&two, 2), None);
    assert!(refusal(&two, 3).unwrap().starts_with("t: 2 different points: need as many as"));
    // Far from zero, the differences fill the range.
    let mut far = points(&[[1.6e18, 5.0], [1.6e18 + 256.0, 5.0], [1.6e18 + 512.0, 5.0]]);
    assert_eq!(points::scale(&mut far), Some(256.0));
    assert_eq!(far, points(&[[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]));
    for bad in [[[1.0, 2.0]; 2], [[-1e308, 0.0], [1e308, 0.0]], [[0.0, 0.0], [1e-200, 0.0]]] {
        assert_eq!(points::scale(&mut points(&bad)), None);
    }
}

#[test]
fn scores_are_those_of_scikit_learn() {
    // adjusted_rand_score of its documentation, and one by hand.
    assert_eq!(score::adjusted_rand(&[0, 0, 1, 1], &[1, 1, 0, 0]), 1.0);
    assert!((score::adjusted_rand(&[0, 0, 1, 2], &[0, 0, 1, 1]) - 0.571_428_571).abs() < 1e-8);
    assert!((score::adjusted_rand(&[0, 0, 1, 1], &[0, 0, 1, 2]) - 0.571_428_571).abs() < 1e-8);
    assert_eq!(score::adjusted_rand(&[0, 0, 0, 0], &[0, 1, 2, 3]), 0.0);
    assert_eq!(score::matched(&[1, 1, 0, 2], &[0, 0, 1, 1]), 0.75);
    assert_eq!(score::matched(&[0, 0, 0, 0], &[0, 0, 1, 2]), 0.5);
    // Lloyd's iteration on iris ends near the published 0.730 and inertia 78.85.
    let (rows, species) = iris();
    let start = lloyd::start(&rows, 3, &mut random::seeded(2));
    let last = lloyd::lloyd(&rows, &start, 30).pop().unwrap();
    let found = lloyd::assign(&rows, &last);
    assert!((lloyd::inertia(&rows, &last) - 78.85).abs() < 0.1);
    assert!((score::adjusted_rand(&found, &species) - 0.730).abs() < 0.015);
    assert!((score::matched(&found, &species) - 0.893).abs() < 0.008);
}

#[test]
fn the_network_learns_its_digits() {
    let mut rng = random::seeded(5);
    let network = network::train(&digits::draw(1500, &mut rng), 24, 12, &mut rng);
    let test = digits::draw(500, &mut rng);
    let right = test.iter().filter(|i| best(&network.scores(&i.pixels)) == i.digit).count();
    assert!(right > 400, "{right}");
    // The scaled network has the same scores, and inputs of the ReLU within the reach.
    let filling = network::filling(network.clone(), 8.0);
    for image in &test {
        let pairs = network.scores(&image.pixels).into_iter().zip(filling.scores(&image.pixels));
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-9));
        assert!(filling.layers[0].apply(&image.pixels).iter().all(|v| v.abs() <= 8.0));
    }
    assert!(test.iter().all(|i| i.pixels.iter().all(|p| (0.0..=1.0).contains(p))));
}

#[test]
fn windows_cover_the_image_once() {
    let image = image::Image::draw(8, &mut random::seeded(1));
    for window in [2, 4] {
        let mut places = image.windows(window).concat();
        places.sort_unstable();
        assert_eq!(places, (0..64).collect::<Vec<_>>());
    }
    assert_eq!(image.windows(4)[1], [4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31]);
    let largest = image.pooled(2);
    assert_eq!(largest.len(), 16);
    assert_eq!(
        largest[0],
        image.pixels[0].max(image.pixels[1]).max(image.pixels[8]).max(image.pixels[9])
    );
}

#[test]
fn orders_are_permutations_and_normals_are_normal() {
    let mut rng = random::seeded(9);
    let mut order = random::shuffled(100, &mut rng);
    assert_ne!(order, (0..100).collect::<Vec<_>>());
    order.sort_unstable();
    assert_eq!(order, (0..100).collect::<Vec<_>>());
    let draws: Vec<f64> = (0..20_000).map(|_| random::normal(&mut rng)).collect();
    let mean = draws.iter().sum::<f64>() / 20_000.0;
    let square = draws.iter().map(|x| x * x).sum::<f64>() / 20_000.0;
    assert!(mean.abs() < 0.03 && (square - 1.0).abs() < 0.04, "{mean} {square}");
}

#[test]
fn the_digits_are_those_of_the_data_set() {
    let all = images::all();
    assert_eq!(all.len(), 1797);
    // The counts that scikit-learn documents.
    let counts = |digit| all.iter().filter(|image| image.digit == digit).count();
    let known = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180];
    assert_eq!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(counts), known);
    assert_eq!(all[0].pixels[..8], [0, 0, 5, 13, 9, 1, 0, 0]);
    let ink: usize = all.iter().flat_map(|image| &image.pixels).sum();
    assert_eq!(ink, 561718);
    assert!(all.iter().flat_map(|image| &image.pixels).all(|&pixel| pixel <= images::INK));
}

#[test]
fn networks_of_integers_are_close_to_those_of_reals() {
    use integers::{IntegerNetwork, TOP, Training, shade};
    assert_eq!([0, 1, 2, 5, 6, 16].map(shade), [0, 0, 1, 1, 2, 4]);
    let all = images::all();
    let (training, test) = all.split_at(773);
    let mut rng = random::seeded(5);
    let widths = [images::PIXELS, 32, 16, images::CLASSES];
    let real = integers::train(training, &widths, Training::SHORT, &mut rng);
    let network = IntegerNetwork::train(real.clone(), training, 256, Training::SHORT, &mut rng);
    let right = |digit: &dyn Fn(&images::Image) -> usize| {
        test.iter().filter(|image| digit(image) == image.digit).count() as f64 / test.len() as f64
    };
    let (of_reals, of_integers) = (
        right(&|i| best(&real.scores(&integers::pixels(i)))),
        right(&|i| best(&network.scores(i))),
    );
    println!("{of_reals} of reals, {of_integers} of integers");
    assert!(of_reals > 0.85 && of_integers > of_reals - 0.08, "{of_reals} {of_integers}");
    // Tables: zero for negative sums, then from zero to the top.
    for layer in 0..2 {
        let table: Vec<usize> = (0..256).map(|k| network.activation(layer, k)).collect();
        assert!(table[128..].iter().all(|&a| a == 0) && table[0] == 0);
        assert!(table[..128].is_sorted() && table[127] == TOP, "{table:?}");
    }
    // No sum of the first layer wraps, so that the modulus changes nothing.
    for image in test {
        let x: Vec<f64> = image.pixels.iter().map(|&pixel| shade(pixel) as f64).collect();
        let sums = network.network.layers[0].apply(&x);
        assert!(sums.iter().all(|sum| (-128.0..128.0).contains(sum)));
    }
    assert_eq!(best(&[-3.0, 7.0, 7.0, -9.0]), 1);
}
