package core

// StrictProfiles are the values of FI_STRICT, for the descriptions of parameters (docs/strict.md).
const StrictProfiles = "verbs, efa, efa-direct, cxi, psm3, opx, all, loose"

// libraryParams are the library's own variables: those of native libfabric that have a meaning here.
var libraryParams = []Param{
	{Name: "prefer_sysconfig", Type: ParamBool, Default: "0",
		Help: "Let libfabric.conf win over the environment where both set a variable"},
	{Name: "provider", Type: ParamString,
		Help: "Use only these providers: a list such as tcp,udp;ofi_rxd; with ^ in front, all but these (default: all)"},
	{Name: "addr_format", Type: ParamString,
		Help: "Return only results of this address format, such as FI_SOCKADDR_IN (default: all)"},
	{Name: "universe_size", Type: ParamSize, Default: "256",
		Help: "How many peers to expect; sizes of tables are derived from it"},
	{Name: "av_remove_cleanup", Type: ParamBool, Default: "0",
		Help: "Close the connection of a peer when its address is removed from an address vector"},
	{Name: "strict", Type: ParamString,
		Help: "Require of the application what a hardware provider requires, and behave as it does: one of " + StrictProfiles +
			" (default: off); not a variable of native libfabric"},
	{Name: "strict_seed", Type: ParamInt, Default: "1",
		Help: "Seed for the random order in which FI_STRICT completes operations, and executes those without ordering; 0 changes no order"},
	{Name: "watchdog", Type: ParamInt, Default: "5000",
		Help: "Milliseconds without progress after which an operation, a connect or a queue counts as stuck (docs/metrics.md); 0: never; not a variable of native libfabric"},
	{Name: "process_name", Type: ParamString,
		Help: "Name of the process in metrics and in fabricd (default: the name of its program); not a variable of native libfabric"},
	{Name: "resolve_timeout", Type: ParamInt, Default: "5000",
		Help: "Milliseconds to wait for the resolver of host names; not a variable of native libfabric"},
}
