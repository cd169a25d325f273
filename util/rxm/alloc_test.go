package rxm_test

import (
	"testing"

	"gofabric/test/duo"
)

func TestNoAllocation(t *testing.T) { duo.NoAllocation(t, "tcp;ofi_rxm") }
