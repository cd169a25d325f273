//go:build linux

package page

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"gofabric/test/need"
)

// browser is a tab of a headless Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	expected []string // complaints that contain one of these are ignored
	said     []string // exceptions and errors of the console: refused files, violations of the content security policy
}

// chromium starts one Chromium for all tests. Each test has a tab of its own.
var chromium = sync.OnceValues(func() (context.Context, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, err
	}
	known, err := identity()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "gofabric-chromium-")
	if err != nil {
		return nil, err
	}
	// The sandbox does not run as root.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.WSURLReadTimeout(patience),
		chromedp.UserDataDir(dir), chromedp.WindowSize(1280, 900),
		chromedp.Flag("ignore-certificate-errors-spki-list", known.spki))
	ctx, endAll := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, endFirst := chromedp.NewContext(ctx)
	atEnd(func() {
		endFirst()
		endAll()
		os.RemoveAll(dir)
	})
	return ctx, chromedp.Do(ctx)
})

// open opens a tab. Complaints of the browser fail the test, unless the test takes them with errors. Call it after the
// daemon has started: then the tab closes before the daemon ends.
func open(t *testing.T) *browser {
	t.Helper()
	all, err := chromium()
	if errors.Is(err, exec.ErrNotFound) {
		need.Missing(t, "there is no chromium: apt install chromium")
	}
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t}
	var cancel context.CancelFunc
	b.ctx, cancel = chromedp.NewContext(all)
	t.Cleanup(func() {
		if said := b.errors(); len(said) > 0 {
			t.Errorf("the browser complains: %q", said)
		}
		cancel()
	})
	if err := chromedp.Listen(b.ctx, b.listen); err != nil { // this creates the tab
		t.Fatal(err)
	}
	return b
}

func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError &&
			!slices.ContainsFunc(b.expected, func(part string) bool { return strings.Contains(e.Entry.Text, part) }) {
			b.said = append(b.said, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

// expect declares complaints that the browser will make at some time.
func (b *browser) expect(parts ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, parts...)
}

// errors returns the browser's complaints so far, and forgets them.
func (b *browser) errors() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	said := b.said
	b.said = nil
	return said
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	get(b, chromedp.Steps(steps...))
}

// get runs an action, and ends the test if it fails.
func get[T any](b *browser, a chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		b.t.Fatalf("%v; the browser complains of %q", err, b.errors())
	}
	return v
}

// until waits until a JavaScript expression is true.
func (b *browser) until(expression string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx,
		chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(patience))); err != nil {
		b.picture("failed")
		b.t.Fatalf("%s: %v; the browser complains of %q", expression, err, b.errors())
	}
}

// value evaluates an expression.
func (b *browser) value(expression string) string {
	b.t.Helper()
	return fmt.Sprint(get(b, chromedp.Evaluate[any](expression)))
}

// asks counts how often the page has fetched the state.
const asks = `performance.getEntriesByType("resource").filter(e => e.name.endsWith("/v1/status")).length`

// refreshed waits until the page has fetched the state twice more, so that it shows what was true at the time of the
// call.
func (b *browser) refreshed() {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](`performance.clearResourceTimings()`)) // the buffer holds at most 250
	b.until(asks + " >= 2")
}

// look is the size and colour scheme of a window.
type look struct {
	name          string
	width, height int64
	scheme        string
	phone         bool
}

func (b *browser) as(l look) {
	b.t.Helper()
	options := []chromedp.EmulateViewportOption{}
	if l.phone {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulatePortrait)
	}
	b.do(chromedp.EmulateViewport(l.width, l.height, options...),
		func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}})
			return chromedp.Void{}, err
		})
}

// picture saves a picture of the whole page, if pictures were requested.
func (b *browser) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("GOFABRIC_SCREENSHOTS")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), get(b, chromedp.FullScreenshot(100)), 0o644); err != nil {
		b.t.Error(err)
	}
}
