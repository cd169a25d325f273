package atomics

// Of converts numbers of enum fi_datatype and enum fi_op, as core and applications have them. It returns false if
// calls of kind k do not take them together (fi_query_atomic, fi_atomic(3)).
func Of(k Kind, datatype, op uint16) (Datatype, Op, bool) {
	if datatype >= uint16(len(sizes)) || op >= uint16(numOps) || !Valid(k, Datatype(datatype), Op(op)) {
		return 0, 0, false
	}
	return Datatype(datatype), Op(op), true
}
