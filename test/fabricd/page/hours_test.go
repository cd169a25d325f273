//go:build linux

package page

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"gofabric/internal/fabricd/api"
	"gofabric/test/need"
)

// hurry makes the page fetch fifty times as often, and counts the fetches.
const hurry = `
	window.looks = 0;
	const wait = window.setTimeout, ask = window.fetch;
	window.setTimeout = (f, ms) => wait(f, ms / 50);
	window.fetch = (path, options) => {
		if (path.endsWith("/v1/status")) window.looks++;
		return ask(path, options);
	};
`

// call sends a command of the DevTools.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[R] {
	return func(ctx context.Context, t *chromedp.Target) (R, error) { return cdp.Call(ctx, t, command, params) }
}

// TestHours lets processes and names come and go for as many fetches as the page makes in ten minutes. The page's
// memory must not grow.
func TestHours(t *testing.T) {
	need.Asked(t, "it takes a browser a long time")
	s := plain(t)
	b := open(t)
	get(b, call(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: hurry}))
	b.do(chromedp.Navigate(s.link))
	made := 0
	heap := func(looks int) float64 {
		t.Helper()
		for done := false; !done; {
			end := s.pretend()
			name := api.NamePath(fmt.Sprint("job/", made))
			made++
			s.ask("PUT", name, api.Registration{Address: evil, Lease: "1m"}, nil)
			shown := fmt.Sprintf(`document.querySelector("#names tbody").textContent.includes("job/%d") && document.querySelectorAll(".process .wide tbody tr").length > 0`, made-1)
			b.until(shown)
			s.ask("DELETE", name, nil, nil)
			end()
			done = get(b, chromedp.Evaluate[float64](`window.looks`)) >= float64(looks)
		}
		get(b, call(heapprofiler.CollectGarbage, cdp.Empty{}))
		return get(b, call(runtime.GetHeapUsage, cdp.Empty{})).UsedSize
	}
	first := heap(100)
	last := heap(700)
	t.Logf("%d processes and names came and went; the heap has %.0f, then %.0f bytes", made, first, last)
	if last > first+150_000 {
		t.Errorf("after 600 fetches the page's heap has grown from %.0f to %.0f bytes", first, last)
	}
}
