//! Functions by their engines, and functions of several values by tables.

use bellerophon::lwe::{self, Headroom, Order};
use bellerophon::{Engine, prelude::*, repack};

use super::Bench;

/// Tables of the toy set are coarse. Padding that reaches a value moves it by far more.
const COARSE: f64 = 0.2;

impl Bench<'_> {
    pub fn look_ups(&mut self) {
        let Self { client, server: s, x, y, values, .. } = *self;
        let (n, domain) = (values.len(), 0.25..=1.0);
        let root = |i: usize| Some(values[i].sqrt());
        self.slots("map", COARSE, s.map(x, f64::sqrt), root);
        for engine in [Engine::Poly, Engine::Fbt, Engine::Rgsw, Engine::Corrected] {
            let request = MapRequest::new(f64::sqrt).over(domain.clone()).engines([engine]);
            self.slots("map_with", COARSE, s.map_with(x, &request), root);
        }
        let both: [&dyn Fn(f64) -> f64; 2] = [&f64::sqrt, &|v| 1.0 - v];
        let many = s.map_many(&[x], &MapRequest::many(&both).over(domain.clone())).unwrap();
        for (result, f) in many.into_iter().zip(both) {
            self.slots("map_many", COARSE, Ok::<_, String>(result), |i| Some(f(values[i])));
        }
        // LWE values have no padding: they are as many as the values.
        let extracted = s.extract(x, domain.clone()).unwrap();
        self.lwe("extract", &extracted);
        // Packing takes twice the width.
        let room = Headroom { terms: 2, levels: 0 };
        let wide = s.extract_for(x, -1.0..=1.0, room).unwrap();
        self.lwe("extract_for", &wide);
        let all = s.extract_all(&[x, y], domain, Headroom::TABLE).unwrap();
        self.lwe("extract_all", &all[0]);
        self.slots("pack", COARSE, s.pack(&wide), |i| Some(values[i]));
        let (slots, positions) = (2 * x.meta().slots, (0..n).map(|i| 2 * i + 1));
        let positions: Vec<usize> = positions.collect();
        let layout = repack::Layout::new(slots, &positions).unwrap();
        self.slots("pack_in", COARSE, s.pack_in(&wide, &layout, 1), |i| {
            (i % 2 == 1).then(|| values.get(i / 2).copied()).flatten()
        });
        let output = lwe::OutputEncoding::Fit(Headroom { terms: 1, levels: 0 });
        let above = |v: f64| f64::from(u8::from(v > 0.6));
        let ends = s.tables().unwrap().map(&extracted, above, output).unwrap();
        let level = client.params().lookups().unwrap().level_after();
        self.slots("pack_ends", COARSE, s.pack_ends(&ends, level), |i| {
            ((values[i] - 0.6).abs() > COARSE).then(|| above(values[i]))
        });
    }

    fn lwe(&mut self, name: &'static str, found: &lwe::LweVec) {
        let values = self.values;
        assert_eq!(found.len(), values.len(), "{name}");
        let found = self.client.decrypt_values(found).unwrap();
        self.compare(name, COARSE, &found, |i| Some(values[i]));
    }

    /// Functions of several vectors, and of the values of one.
    pub fn comparisons(&mut self) {
        let Self { server, x, y, values, others, .. } = *self;
        let (n, s) = (values.len(), server.within(0.0..=1.0));
        let (of_both, pair) = (|i: usize| (values[i], others[i]), [x, y]);
        let apart = |i: usize| (values[i] - others[i]).abs() > COARSE;
        let one = |holds: bool| f64::from(u8::from(holds));
        self.slots("max (LWE)", COARSE, s.max(&pair), |i| Some(of_both(i).0.max(of_both(i).1)));
        self.slots("min (LWE)", COARSE, s.min(&pair), |i| Some(of_both(i).0.min(of_both(i).1)));
        let later = |i: usize| apart(i).then(|| one(others[i] > values[i]));
        self.slots("arg_max (LWE)", COARSE, s.arg_max(&pair), later);
        let later = |i: usize| apart(i).then(|| one(others[i] < values[i]));
        self.slots("arg_min (LWE)", COARSE, s.arg_min(&pair), later);
        let greater = |i: usize| apart(i).then(|| one(values[i] > others[i]));
        self.slots("greater (LWE)", COARSE, s.greater(x, y), greater);
        self.slots("abs (LWE)", COARSE, s.abs(x), |i| Some(values[i]));
        // Sorting takes many layers of look-ups.
        if n > 3 {
            return;
        }
        let mut up = values.to_vec();
        up.sort_by(f64::total_cmp);
        let best = |least: bool| {
            let wanted = if least { up[0] } else { up[n - 1] };
            values.iter().position(|&v| v == wanted).unwrap()
        };
        let (least, most) = (best(true), best(false));
        self.slots("sort (LWE)", COARSE, s.sort(x, Order::Ascending), |i| Some(up[i]));
        self.slots("largest (LWE)", COARSE, s.largest(x, 1), |_| Some(up[n - 1]));
        self.slots("smallest (LWE)", COARSE, s.smallest(x, 1), |_| Some(up[0]));
        self.slots("argmax_index (LWE)", COARSE, s.argmax_index(x), |_| Some(most as f64));
        self.slots("argmin_index (LWE)", COARSE, s.argmin_index(x), |_| Some(least as f64));
        self.slots("argmax_one_hot (LWE)", COARSE, s.argmax_one_hot(x), |i| Some(one(i == most)));
        self.slots("argmin_one_hot (LWE)", COARSE, s.argmin_one_hot(x), |i| Some(one(i == least)));
        self.slots("max_pool (LWE)", COARSE, s.max_pool(x, n, 1), |i| Some(values[i]));
    }
}
