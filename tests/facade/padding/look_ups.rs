//! Functions by their engines, and functions of several values by tables.

use bellerophon::lwe::{self, Headroom, SortOrder};
use bellerophon::{Engine, OrderFunction, lookup, prelude::*};

use super::{Bench, LONG};

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
        // Every other slot, where there are as many.
        let slots = (2 * x.meta().slots).min(s.params().ckks().max_slots());
        let step = slots / x.meta().slots;
        let positions: Vec<usize> = (0..n).map(|i| step * i + step - 1).collect();
        let layout = lookup::Layout::new(slots, &positions).unwrap();
        self.slots("pack_in", COARSE, s.pack_in(&wide, &layout, 1), |i| {
            (i % step == step - 1).then(|| values.get(i / step).copied()).flatten()
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
        let found = self.client.decrypt_lwe(found).unwrap();
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
        if n <= 3 || LONG {
            self.ranks();
        }
    }

    /// Functions of the values of one vector.
    fn ranks(&mut self) {
        let Self { client, server, x, values, .. } = *self;
        let (n, s) = (values.len(), server.within(0.0..=1.0));
        let mut up = values.to_vec();
        up.sort_by(f64::total_cmp);
        // Each layer of a long sort adds its error.
        let bound = |function| client.params().order_accuracy(0.0..=1.0, function).unwrap();
        let sorting = COARSE.max(bound(OrderFunction::Sort { values: n }).max_abs(20 * n));
        let few = COARSE.max(bound(OrderFunction::Largest { values: n, count: 1 }).max_abs(20));
        self.slots("sort (LWE)", sorting, s.sort(x, SortOrder::Ascending), |i| Some(up[i]));
        self.slots("largest (LWE)", few, s.largest(x, 1), |_| Some(up[n - 1]));
        self.slots("smallest (LWE)", few, s.smallest(x, 1), |_| Some(up[0]));
        self.slots("max_pool (LWE)", COARSE, s.max_pool(x, n, 1), |i| Some(values[i]));
        // One value far above all others, and one far below them.
        let place = |of: f64| values.iter().position(|&v| v == of).unwrap();
        let (least, most) = (place(up[0]), place(up[n - 1]));
        let peaks = (0..n).map(|i| match i {
            _ if i == most => 1.0,
            _ if i == least => 0.25,
            _ => 0.6,
        });
        let x = &client.encrypt(&peaks.collect::<Vec<_>>(), 0.25..=1.0).unwrap();
        let one = |holds: bool| f64::from(u8::from(holds));
        self.slots("argmax_index (LWE)", COARSE, s.argmax_index(x), |_| Some(most as f64));
        self.slots("argmin_index (LWE)", COARSE, s.argmin_index(x), |_| Some(least as f64));
        self.slots("argmax_one_hot (LWE)", COARSE, s.argmax_one_hot(x), |i| Some(one(i == most)));
        self.slots("argmin_one_hot (LWE)", COARSE, s.argmin_one_hot(x), |i| Some(one(i == least)));
    }
}
