// Package hook passes every call of the objects of a stack through to the drivers below: the base of what stands above a stack (core.Hook) and changes a few
// calls, as libfabric's hooking providers do (fi_hook(7)). A hook embeds these types in its own and carries only what it changes.
//
// Objects are bound to each other: an endpoint to queues, a region to a counter. A hook's objects know the drivers below by Below, and the types here hand
// those down.
//
// None of the types passes core.PlainSender and core.PlainReceiver on, so that all transfers of a hook's endpoint come through Post.
package hook
