package hook

import "gofabric/core"

// STX is a shared transmit context.
type STX struct{ core.STXDriver }

// Below implements Over.
func (s STX) Below() any { return s.STXDriver }
