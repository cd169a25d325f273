// Package core is libfabric's object model in Go: the values (Info and its attributes, capability and mode bits,
// addresses, error numbers), the objects of an application (Fabric, Domain, PassiveEndpoint, Endpoint,
// CompletionQueue, EventQueue, Counter, AddressVector, MemoryRegion, wait and poll sets), the driver interfaces
// that providers implement, and the provider Registry with GetInfo.
//
// # The object graph
//
//	GetInfo -> Info -> Fabric -> EventQueue        connection events
//	                          -> PassiveEndpoint   listens (MSG)
//	                          -> Domain -> Endpoint ---- binds ----> CompletionQueue, Counter, AddressVector, EventQueue
//	                                    -> SharedContext (SRX)
//	                                    -> AddressVector, CompletionQueue, Counter, MemoryRegion, PollSet
//
// Core has no sockets, no goroutines and no clock. Those are in the providers and in the shared implementations
// (packages cq, av, core/mr).
//
// # Names
//
// A type or call of libfabric has its C name without the prefix: struct fi_cq_attr is [CQAttr], fi_tsendmsg is
// [Endpoint.TSendMsg]. Constants begin with their kind, FI_EP_RDM is [EPTypeRDM], and have the C name beside them.
//
// Flags are one 64-bit word in C, in which a bit means different things in different calls. Here each family is a
// type, and the name of its flag FI_X is the family's prefix and X:
//
//	[Caps]         Cap      CapTagged, CapRMA         capabilities                          fi_getinfo(3)
//	[OpFlags]      Op       OpInject, OpMore          operations, and their defaults        fi_msg(3), fi_endpoint(3)
//	[CompFlags]    Comp     CompTagged, CompRecv      completions                           fi_cq(3)
//	[Access]       Access   AccessRemoteRead          rights to registered memory           fi_mr(3)
//	[MRFlags]      MR       MRRMAEvent                registration                          fi_mr(3)
//	[BindFlags]    Bind     BindTransmit              purpose of a bound queue or counter   fi_ep_bind(3)
//	[InfoFlags]    Info     InfoSource                queries                               fi_getinfo(3)
//	[AVFlags]      AV       AVEvent                   address vectors                       fi_av(3)
//	[InsertFlags]  Insert   InsertSyncErr             insertions into them                  fi_av(3)
//	[AVSetFlags]   AVSet    AVSetUniverse             sets of addresses                     fi_av_set(3)
//	[CQFlags]      CQ       CQAffinity                completion queues                     fi_cq(3)
//	[EQFlags]      EQ       EQWrite, EQPeek           event queues                          fi_eq(3)
//	[CntrFlags]    Cntr     CntrPeer                  counters                              fi_cntr(3)
//	[AtomicFlags]  Atomic   AtomicFetch               Domain.QueryAtomic                    fi_atomic(3)
//	[JoinFlags]    Join     JoinSend                  groups                                fi_cm(3)
//	[Mode]         Mode     ModeContext               demands on the caller                 fi_getinfo(3)
//	[MRMode]       MRMode   MRModeLocal               demands on registration               fi_mr(3)
//	[Order]        Order    OrderSAS                  message ordering                      fi_endpoint(3)
//
// The values are libfabric's. If libfabric defines no flags for a field, it is a plain integer that must be 0.
//
// # Errors
//
// Control calls return an *OpError that wraps an Errno and says what happened, where, and what to do. Data-transfer
// calls and queue reads return plain Errno values such as ErrAgain, which allocate nothing. The details of a
// failed operation are in its error completion.
//
// # Concurrency
//
// Unless a provider's Info says otherwise (DomainAttr.Threading), every method may be called from any goroutine.
package core
