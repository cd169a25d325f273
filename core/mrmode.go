package core

// This file handles memory-registration modes across API versions (fi_mr(3), "MR MODE BITS"). Before 1.5 a domain
// was FI_MR_BASIC or FI_MR_SCALABLE; since then it has mode bits. A provider that supports both lists the old names
// besides the bits that it requires.

// modeLocalMR is FI_LOCAL_MR, the mode bit that MRModeLocal replaced in API version 1.5.
const modeLocalMR Mode = 1 << 55

const (
	mrOldModes = MRModeBasic | MRModeScalable
	// mrRMATarget are the modes that only matter to targets of RMA and atomics.
	mrRMATarget = MRModeRaw | MRModeVirtAddr | MRModeProvKey | MRModeRMAEvent
)

// neededMRMode returns the bits of a provider's mode that these capabilities require.
func neededMRMode(caps Caps, mode MRMode) MRMode {
	if caps&CapHMem == 0 {
		mode &^= MRModeHMem
	}
	if !rmaTargetAllowed(caps) {
		if mode&(MRModeLocal|MRModeHMem) == 0 {
			return 0
		}
		mode &^= mrRMATarget
	}
	return mode &^ mrOldModes
}

// checkMRMode returns the reason why the provider cannot be used with a caller's mode, or "".
func checkMRMode(v Version, prov MRMode, user *Info) string {
	asked := user.Domain.MRMode
	switch {
	case prov&MRModeLocal != 0 && user.Mode&modeLocalMR == 0 && asked&MRModeLocal == 0:
		return "mr_mode: FI_MR_LOCAL is required, asked for " + brackets(asked.String())
	case v.Before(1, 5):
		ok := false
		switch asked {
		case 0:
			ok = prov&mrOldModes != 0
		case MRModeBasic, MRModeScalable:
			ok = prov&asked != 0
		}
		if !ok {
			return differ("mr_mode", brackets(asked.String()), brackets((prov&mrOldModes).String())+" before API version 1.5")
		}
	case asked&mrOldModes != 0:
		old := asked & mrOldModes
		if asked != old || old == mrOldModes || prov&old == 0 {
			return differ("mr_mode", brackets(asked.String()), brackets(prov.String()))
		}
	case asked != 0:
		if need := neededMRMode(user.Caps, prov); asked&need != need {
			return "mr_mode: asked for " + brackets(asked.String()) + ", but " + brackets((need &^ asked).String()) + " is required too"
		}
	}
	return ""
}

// alterMRMode narrows the mode in a result to what the caller must do.
func alterMRMode(v Version, prov MRMode, caps Caps, hints *DomainAttr) MRMode {
	var asked MRMode
	if hints != nil {
		asked = hints.MRMode
	}
	switch {
	case asked&mrOldModes != 0:
		return asked
	case v.Before(1, 5):
		if prov != 0 && prov != MRModeScalable {
			return MRModeBasic
		}
		return MRModeScalable
	}
	prov &^= mrOldModes
	if hints != nil && asked&prov != prov {
		return neededMRMode(caps, prov&asked)
	}
	return prov
}

// neededMode adds FI_LOCAL_MR to a provider's mode for callers that use it in place of FI_MR_LOCAL.
func neededMode(v Version, prov, user *Info) Mode {
	if prov.Domain.MRMode&MRModeLocal != 0 && (v.Before(1, 5) || (user.Domain != nil && user.Domain.MRMode&MRModeLocal == 0)) {
		return prov.Mode | modeLocalMR
	}
	return prov.Mode
}
