package atomics

// Native reports whether a native peer (libfabric 2.6) can execute a valid operation. Its rxd and rxm call the
// entries of the tables in prov/util/src/util_atomic.c without a check (rxd_do_atomic, rxm_do_atomic), and jump to
// address 0 if there is none. With the compiler's atomics, as everywhere, the tables have no entries for
// DoubleComplex, LongDouble and LongDoubleComplex, and for Int128 and Uint128 only if 16 bytes are lock-free, which
// a peer does not say. The types after Uint128, and Diff, are beyond the tables or not implemented.
func Native(dt Datatype, op Op) bool { return dt <= FloatComplex && op <= MSwap }
