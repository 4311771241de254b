//! Results as they leave a server: nothing is said of them but what their program declares.

use crate::common::{World, max_error};
use bellerophon_ckks::{
    Ciphertext, CkksOps, Declaration, ErrorKind, Evaluator, Interval, KeyLevels, Published,
    simulator::Simulator,
};
use bellerophon_ring::wire::Wire;

/// `w x + b` for secrets of the server, declared to lie in [-4, 4].
fn score(eval: &Evaluator, x: &Ciphertext, w: f64, b: f64) -> Published {
    let y = eval.add_scalar(&eval.mul_scalar(x, w).unwrap(), b).unwrap();
    eval.publish(&y, Declaration::from(-4.0..=4.0).with_noise(1e-6)).unwrap()
}

#[test]
fn constants_of_the_server_do_not_show() {
    let world = World::new(10, 2, KeyLevels::default());
    let eval = world.evaluator();
    let values = [0.5, -1.0, 0.25];
    let x = world.encrypt_span(&values);
    let metas: Vec<_> = [(0.37, -0.2), (-2.5, 1.25), (0.0, 0.0)]
        .into_iter()
        .map(|(w, b)| {
            let published = score(&eval, &x, w, b);
            let found: Vec<f64> = world.decrypt(published.as_ref());
            let expected: Vec<f64> = values.iter().map(|x| w * x + b).collect();
            assert!(max_error(&found, &expected) < 1e-6);
            // One that is read again is the same, and its form has no more in it.
            let form = published.to_form(&world.params).unwrap();
            let back = Published::from_form(&world.params, form).unwrap();
            assert_eq!(back, published);
            assert_eq!(published.log2_noise(), -19);
            *published.as_ref().meta()
        })
        .collect();
    assert!(metas.iter().all(|meta| *meta == metas[0]), "{metas:?}");
    assert_eq!((metas[0].bounds.values.lo(), metas[0].bounds.values.hi()), (-4.0, 4.0));
    // The declared variance is the declared deviation of a slot again.
    let noise = score(&eval, &x, 1.0, 0.0).as_ref().metadata().noise();
    assert!((noise.log2() + 19.0).abs() < 1e-9, "{noise}");
}

#[test]
fn what_may_exceed_its_declaration_is_refused() {
    let world = World::new(10, 2, KeyLevels::default());
    let eval = world.evaluator();
    let x = world.encrypt_span(&[0.5, -1.0, 0.25]);
    let range = |declared: Declaration| eval.publish(&x, declared).unwrap_err();
    for declared in [0.0..=1.0, -1.0..=0.25, 0.0..=0.0] {
        let error = range(declared.into());
        assert!(matches!(error.kind(), ErrorKind::Declaration { what: "range", .. }), "{error}");
    }
    for bad in [0.5 * x.metadata().noise(), 0.0, -1.0, f64::NAN, f64::INFINITY, 1e-200, 1e200] {
        let error = range(Declaration::from(-1.0..=1.0).with_noise(bad));
        assert!(
            matches!(error.kind(), ErrorKind::Declaration { what: "noise", .. }),
            "{bad}: {error}"
        );
    }
    for bad in [1.0..=-1.0, f64::NAN..=1.0, -1.0..=f64::INFINITY] {
        assert!(matches!(range(bad.into()).kind(), ErrorKind::Interval { .. }));
    }
    // Padding that is larger than what is declared would be misread with the values.
    let y = eval
        .add_scalar(&x, 3.0)
        .unwrap()
        .assume_range_with_padding(Interval::real(-8.0, 8.0).unwrap());
    let y = eval.assume_range(y, Interval::real(2.0, 3.5).unwrap());
    let error = eval.publish(&y, 2.0..=4.0).unwrap_err();
    assert!(error.to_string().contains("clear_padding"), "{error}");
    // A real result of a disc, a complex one of no interval.
    let z = eval.mul_i(&x).unwrap();
    assert!(eval.publish(&z, -1.0..=1.0).is_err());
    let published = eval.publish(&z, Declaration::complex(1.0)).unwrap();
    assert!(!published.as_ref().range().is_real());
    assert!(eval.publish(&x, Declaration::complex(1.0)).is_ok());
}

/// What a shadow of declared inputs foresees is a declaration that the result keeps.
#[test]
fn a_shadow_declares() {
    let world = World::new(10, 2, KeyLevels::default().multiply(2));
    let eval = world.evaluator();
    let unit = Interval::real(-1.0, 1.0).unwrap();
    let shadow = Simulator::new(&world.params);
    let foreseen = shadow.square(&shadow.encrypt(&[0.0; 3], unit, 2).unwrap()).unwrap();
    let declared = Declaration::from(&foreseen);
    let y = eval.square(&world.encrypt_span(&[0.5, -1.0, 0.25])).unwrap();
    let published = eval.publish(&y, declared).unwrap();
    assert_eq!(*published.as_ref().range(), Interval::real(0.0, 1.0).unwrap());
    let noise = foreseen.metadata().noise();
    assert!(noise <= declared.noise() && declared.noise() < 2.0 * noise);
    // Published results are inputs again.
    let again = eval.add(&published.into(), &y).unwrap();
    assert!(max_error(&world.decrypt(&again), &[0.5, 2.0, 0.125]) < 1e-4);
}
