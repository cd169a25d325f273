package atomics

// Native reports whether a native peer (libfabric 2.6) can be relied on to do a valid operation that arrives. Its rxd and rxm call what the tables of
// prov/util/src/util_atomic.c hold without a look (rxd_do_atomic, rxm_do_atomic). With the compiler's atomics, as it is built everywhere, those are empty for
// DoubleComplex, LongDouble and LongDoubleComplex, and for Int128 and Uint128 but where 16 bytes are lock-free, which a peer does not say: it jumps to
// address 0. The types after Uint128, and Diff, are past the tables' ends or not done at all.
func Native(dt Datatype, op Op) bool { return dt <= FloatComplex && op <= MSwap }
