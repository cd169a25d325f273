// Package core is libfabric's object model in Go: the values (Info and its attributes, capability and mode bits, addresses, error numbers), the
// interfaces of every object (Fabric, Domain, PassiveEndpoint, Endpoint, CompletionQueue, EventQueue, Counter, AddressVector, MemoryRegion, wait
// and poll sets), and the provider Registry with GetInfo.
//
// # The object graph
//
//	GetInfo -> Info -> Fabric -> EventQueue        connection events
//	                          -> PassiveEndpoint   listens (MSG)
//	                          -> Domain -> Endpoint ---- binds ----> CompletionQueue, Counter, AddressVector, EventQueue
//	                                    -> SharedContext (SRX)
//	                                    -> AddressVector, CompletionQueue, Counter, MemoryRegion, PollSet
//
// Core holds no sockets, no goroutines and no clock; providers and the shared implementations (packages cq, av, core/mr) bring those.
//
// # Errors
//
// Control calls return an *OpError that wraps an Errno and says what happened, where, and what to do. Data-transfer calls and queue reads return
// bare Errno sentinels such as ErrAgain, which cost nothing; the details of a failed operation come as an error completion.
//
// # Concurrency
//
// Unless a provider's Info says otherwise (DomainAttr.Threading), every method may be called from any goroutine.
package core
