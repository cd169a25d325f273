package core

// There are two kinds of capabilities (fi_getinfo(3), "CAPABILITIES"). An application gets a primary capability
// only if it asks for it, since it may cost something. A provider may give secondary ones unasked.
const (
	primaryTxCaps = CapMsg | CapRMA | CapTagged | CapAtomic | CapMulticast | CapRead | CapWrite | CapSend | CapCollective | CapNamedRxCtx | CapHMem | CapXPU
	primaryRxCaps = CapMsg | CapRMA | CapTagged | CapAtomic | CapRemoteRead | CapRemoteWrite | CapRecv | CapDirectedRecv | CapCollective | CapHMem |
		CapTaggedDirectedRecv | CapExactDirectedRecv
	primaryDomainCaps = CapAVUserID | CapPeer | CapFirewallAddr

	secondaryTxCaps     = CapTrigger | CapFence | CapRMAPMem
	secondaryRxCaps     = CapMultiRecv | CapTrigger | CapRMAPMem | CapSource | CapRMAEvent | CapSourceErr | CapTaggedMultiRecv
	secondaryDomainCaps = CapSharedAV | CapRemoteComm | CapLocalComm

	primaryCaps   = primaryTxCaps | primaryRxCaps | primaryDomainCaps
	secondaryCaps = secondaryTxCaps | secondaryRxCaps | secondaryDomainCaps

	msgDirections = CapSend | CapRecv
	rmaDirections = CapRead | CapWrite | CapRemoteRead | CapRemoteWrite

	// Receive capabilities in transmit attributes of hints are ignored, and transmit capabilities in receive
	// attributes: old programs set them.
	ignoredTxCaps = CapRemoteRead | CapRemoteWrite | CapRecv | CapDirectedRecv | CapMultiRecv | CapSource | CapRMAEvent | CapSourceErr
	ignoredRxCaps = CapRead | CapWrite | CapSend | CapFence | CapMulticast | CapNamedRxCtx
)

// rmaTargetAllowed reports whether an endpoint with these capabilities may be the target of RMA or atomics.
func rmaTargetAllowed(caps Caps) bool {
	switch {
	case caps&(CapRMA|CapAtomic) == 0:
		return false
	case caps&(CapRemoteRead|CapRemoteWrite) != 0:
		return true
	}
	return caps&(CapRead|CapWrite) == 0
}

// demandingCaps are given only to applications that ask for them. They change what an application must do or what
// it receives, or they are newer than programs that refuse capabilities that they do not know (fabtests).
const demandingCaps = CapExactDirectedRecv | CapSourceErr | CapTaggedDirectedRecv | CapTaggedMultiRecv

// alterCaps returns the capabilities of a result. info is the capabilities of the Info that attr belongs to.
func alterCaps(info, asked, attr Caps) Caps {
	const explicit = CapSourceErr | CapTaggedMultiRecv
	var caps Caps
	if asked == 0 {
		caps = info&attr&primaryCaps | attr&secondaryCaps&^explicit | info&attr&explicit
	} else {
		caps = asked&primaryCaps | attr&secondaryCaps&^(explicit|CapSource) | asked&(explicit|CapSource)
	}
	// No direction means all directions.
	if caps&(CapMsg|CapTagged) != 0 && caps&msgDirections == 0 {
		caps |= attr & msgDirections
	}
	if caps&(CapRMA|CapAtomic) != 0 && caps&rmaDirections == 0 {
		caps |= attr & rmaDirections
	}
	return caps
}

// alterInfoCaps is alterCaps for a whole Info. A caller that refuses the memory-registration modes that a provider
// needs of RMA targets cannot be an RMA target.
func alterInfoCaps(v Version, prov, user *Info) Caps {
	if user == nil {
		return prov.Caps &^ demandingCaps
	}
	caps := alterCaps(prov.Caps, user.Caps, prov.Caps)
	if user.Caps == 0 {
		caps &^= demandingCaps
	}
	need := prov.Domain.MRMode & mrRMATarget
	if !rmaTargetAllowed(caps) || need == 0 {
		return caps
	}
	if user.Domain != nil {
		asked := user.Domain.MRMode
		if (v.Before(1, 5) && asked == 0) || asked == MRModeBasic || asked&need == need {
			return caps
		}
	}
	return caps &^ (CapRemoteRead | CapRemoteWrite)
}
