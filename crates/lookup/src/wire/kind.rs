//! Numbers of the types of objects; see [`Wire::KIND`](bellerophon_ring::wire::Wire::KIND).

/// [`SeededRepackKey`](crate::SeededRepackKey).
pub const REPACK_KEY: u16 = 0x0401;
/// [`RingBridgeKeys`](crate::RingBridgeKeys).
pub const RING_BRIDGE_KEYS: u16 = 0x0402;
