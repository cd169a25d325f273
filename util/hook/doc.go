// Package hook passes every call of a stack's objects to the drivers below. It is the base of hooks (core.Hook),
// which stand above a stack and change a few calls, as libfabric's hooking providers do (fi_hook(7)). A hook embeds
// these types in its own and implements only the calls that it changes.
//
// Objects are bound to each other: an endpoint to queues, a region to a counter. The driver below does not know a
// hook's objects. Therefore the types here pass the drivers below them (Below).
//
// No type implements core.PlainSender or core.PlainReceiver: all transfers of a hook's endpoint pass through Post.
package hook
