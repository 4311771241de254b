//! Operations on slots.

use bellerophon::circuits::approx::{Approximation, Function, Known, Sign};
use bellerophon::prelude::*;
use bellerophon::{
    circuits::{
        chebyshev::Chebyshev,
        diagonals::Diagonals,
        fbt::FbtInput,
        lintrans::LinearTransform,
        polynomial::{Monomial, Polynomial},
    },
    ckks::{self, CkksOps, Complex64},
};

use super::Bench;

impl Bench<'_> {
    pub fn arithmetic(&mut self) {
        let Self { server: s, x, y, .. } = *self;
        let (n, scale) = (x.len(), s.params().ckks().scale());
        let (ones, both) = (vec![0.5; n], [(x, 0.5), (y, -0.25)]);
        self.check("add", s.add(x, y), |x, y| x + y);
        self.check("sub", s.sub(x, y), |x, y| x - y);
        self.check("neg", s.neg(x), |x, _| -x);
        self.check("add_many", s.add_many(&[x, y, x]), |x, y| 2.0 * x + y);
        self.check("add_scalar", s.add_scalar(x, 0.5), |x, _| x + 0.5);
        self.check("add_values", s.add_values(x, &ones), |x, _| x + 0.5);
        self.check("mul", s.mul(x, y), |x, y| x * y);
        self.check("square", s.square(x), |x, _| x * x);
        let product = s.mul_no_rescale(x, y);
        self.check("mul_no_rescale", product.clone(), |x, y| x * y);
        self.check("rescale", product.and_then(|z| s.rescale(&z)), |x, y| x * y);
        self.check("square_no_rescale", s.square_no_rescale(x), |x, _| x * x);
        self.check("dot", s.dot(&[x, y], &[y, y]), |x, y| x * y + y * y);
        self.check("mul_scalar", s.mul_scalar(x, -0.75), |x, _| -0.75 * x);
        self.check("mul_integer", s.mul_integer(x, 3), |x, _| 3.0 * x);
        self.check("mul_values", s.mul_values(x, &ones), |x, _| 0.5 * x);
        self.check("mul_values_to", s.mul_values_to(x, &ones, scale), |x, _| 0.5 * x);
        self.check("dot_values", s.dot_values(&[x], &[vec![2.0; n]]), |x, _| 2.0 * x);
        self.check("linear_combination", s.linear_combination(&both, 0.125, None), |x, y| {
            0.5 * x - 0.25 * y + 0.125
        });
        self.check("mul_add_many", s.mul_add_many(&[(x, y)], &both, 0.125, None), |x, y| {
            x * y + 0.5 * x - 0.25 * y + 0.125
        });
        self.check("real_part", s.real_part(x), |x, _| x);
        self.check("conjugate", s.conjugate(x), |x, _| x);
        self.complex("mul_i", s.mul_i(x), Complex64::I);
        let c = Complex64::new(0.5, -0.25);
        self.complex("mul_complex", s.mul_complex(x, c), c);
        self.check("assume_range", s.assume_range(x, 0.25..=1.0), |x, _| x);
        self.check("keep_within", s.keep_within(x, 0.25..=1.0), |x, _| x);
        self.check("assume_noise", s.assume_noise(x.clone(), 1e-9), |x, _| x);
    }

    /// Compares `c x`.
    fn complex<E: std::fmt::Debug>(
        &mut self,
        name: &'static str,
        result: Result<Ciphertext, E>,
        c: Complex64,
    ) {
        let found = self.client.decrypt_complex(&result.unwrap()).unwrap();
        let parts: Vec<f64> = found.iter().flat_map(|z| [z.re, z.im]).collect();
        let values = self.values;
        self.compare(name, 1e-6, &parts, |i| {
            let z = c * values[i / 2];
            Some(if i % 2 == 0 { z.re } else { z.im })
        });
    }

    pub fn functions(&mut self) {
        let Self { server: s, x, y, .. } = *self;
        let ln = Polynomial::new(Chebyshev::interpolate(f64::ln, 0.25, 1.0, 15));
        let sine = Polynomial::new(Chebyshev::interpolate(f64::sin, 0.25, 1.0, 7));
        let inverse = Function::from(Known::Inverse);
        let prepared = Approximation::new(&inverse, 0.25, 1.0, Accuracy::bits(16.0)).unwrap();
        let cube = Monomial::new(&[0.0, 0.5, 0.0, -0.5]).unwrap();
        self.check("polynomial", s.polynomial(x, &ln, None), |x, _| x.ln());
        let several = s.polynomials(x, &[(&ln, None), (&sine, None)]);
        self.check("polynomials", several.map(|mut all| all.remove(1)), |x, _| x.sin());
        let of_cube = |x: f64| 0.5 * (x - x * x * x);
        self.check("monomial", s.monomial(x, &cube, None), |x, _| of_cube(x));
        let several = s.monomials(x, &[(&cube, None)]);
        self.check("monomials", several.map(|mut all| all.remove(0)), |x, _| of_cube(x));
        self.check("apply", s.apply(x, &prepared), |x, _| 1.0 / x);
        self.check("function", s.function(x, &inverse, Accuracy::bits(16.0)), |x, _| 1.0 / x);
        // The compositions as they are: what they approximate is not at stake.
        let sign = Sign::of_degrees(1.0, 0.25, &[7, 7]).unwrap();
        let step = |d: f64| 0.5 + 0.5 * sign.eval(d);
        self.check("sign", s.sign(x, &sign), |x, _| sign.eval(x));
        self.check("step", s.step(x, &sign), |x, _| step(x));
        self.check("abs", s.abs(x, &sign), |x, _| x * sign.eval(x));
        self.check("relu", s.relu(x, &sign), |x, _| x * step(x));
        self.check("greater", s.greater(x, y, &sign), |x, y| step(x - y));
        self.check("max", s.max(x, y, &sign), |x, y| y + (x - y) * step(x - y));
        self.check("min", s.min(x, y, &sign), |x, y| y + (x - y) * step(y - x));
    }

    /// Operations that change slots, levels and scales.
    pub fn moves(&mut self) {
        let Self { server: s, x, values, .. } = *self;
        let (n, slots, level) = (values.len(), x.meta().slots, x.level());
        let at = |i: usize, step: i64| {
            values.get((i as i64 + step).rem_euclid(slots as i64) as usize).copied()
        };
        self.slots("rotate", 1e-4, s.rotate(x, 1), |i| at(i, 1));
        for (step, rotated) in [-1, 2].into_iter().zip(s.rotate_many(x, &[-1, 2]).unwrap()) {
            let rotated = Ok::<_, ckks::Error>(rotated);
            self.slots("rotate_many", 1e-4, rotated, |i| at(i, step));
        }
        let sum = s.sum_of_rotations(&[(x, &[0, 1])]);
        self.slots("sum_of_rotations", 1e-4, sum, |i| Some(at(i, 0)? + at(i, 1)?));
        let mut matrix = Diagonals::zero(slots);
        matrix.add_diagonal(0, vec![Complex64::new(0.5, 0.0)]);
        matrix.add_diagonal(slots / 2, vec![Complex64::new(-0.25, 0.0)]);
        let matrix =
            LinearTransform::new(s.params().ckks(), &matrix, level, Default::default()).unwrap();
        let half = (slots / 2) as i64;
        self.slots("transform", 1e-4, s.transform(x, &matrix), |i| {
            Some(0.5 * at(i, 0)? - 0.25 * at(i, half)?)
        });
        self.check("clear_padding", s.clear_padding(x), |x, _| x);
        self.check("move_padding", s.move_padding(x, 0.5), |x, _| x);
        self.check("drop_to_level", s.drop_to_level(x, level - 1), |x, _| x);
        let scale = 1.5 * x.meta().scale;
        self.check("match_scale", s.match_scale(x, scale, level - 1), |x, _| x);
        self.check("reinterpret_scale", s.reinterpret_scale(x.clone(), 2.0), |x, _| 2.0 * x);
        let most = s.params().ckks().max_slots();
        self.check("repeated", s.repeated(x.clone(), most.min(2 * slots)), |x, _| x);
        let first = |kept: usize| move |i: usize| Some(if i < kept { values[i] } else { 0.0 });
        self.slots("mask", 1e-4, s.mask(x, 0..1), first(1));
        self.slots("mask_slots", 1e-4, s.mask_slots(x, &[0]), first(1));
        self.slots("with_len", 1e-4, s.with_len(x.clone(), 1), first(1));
        // A vector with padding is not repeated: the padding would be, too.
        match s.broadcast(x.clone(), most) {
            Ok(all) => self.slots("broadcast", 1e-4, Ok::<_, ckks::Error>(all), |_| at(0, 0)),
            Err(refused) => assert!(n < slots, "{n}: {refused}"),
        }
    }

    pub fn sums(&mut self) {
        let Self { server: s, x, values, .. } = *self;
        let (n, slots, sum) = (values.len(), x.meta().slots, values.iter().sum::<f64>());
        let tolerance = 1e-4 * (1.0 + sum);
        let count = slots.min(3);
        let window = |i: usize, stride: i64| {
            let place = |k: i64| (i as i64 + k * stride).rem_euclid(slots as i64) as usize;
            Some((0..count as i64).filter_map(|k| values.get(place(k))).sum::<f64>())
        };
        self.slots("sum_slots", tolerance, s.sum_slots(x), |_| Some(sum));
        self.slots("replicate_slot", 1e-4, s.replicate_slot(x, n - 1), |_| Some(values[n - 1]));
        self.slots("inner_sum", 1e-4, s.inner_sum(x, count, 1), |i| window(i, 1));
        self.slots("replicate", 1e-4, s.replicate(x, count, 1), |i| window(i, -1));
    }

    pub fn bootstraps(&mut self) {
        let Self { client, server: s, x, .. } = *self;
        let scale = s.params().ckks().scale();
        self.check("bootstrap", s.bootstrap(x), |x, _| x);
        self.check("bootstrap_to", s.bootstrap_to(x, scale), |x, _| x);
        self.check("bootstrap_iterated", s.bootstrap_iterated(x, 2), |x, _| x);
        let functional = client.params().functional().unwrap();
        let sigmoid = Function::from(Known::Sigmoid);
        let sigmoid = functional.real_function(&sigmoid, 0.0, 2.0, Accuracy::bits(16.0)).unwrap();
        let input = FbtInput { range: *x.range(), both: false };
        let results = s.functional_bootstrap(x, input, &[(&sigmoid, scale)]);
        self.check("functional_bootstrap", results.map(|mut all| all.remove(0)), |x, _| {
            sigmoid.eval(x)
        });
        let x = PairedVec::of_reals(s, x.clone()).unwrap();
        let results = s.functions_of(&x, &[&sigmoid]).unwrap();
        let found = client.decrypt_paired(&results[0]).unwrap();
        let values = self.values;
        self.compare("functions_of", 1e-4, &found, |i| Some(sigmoid.eval(values[i])));
    }
}
