package local

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// bbolt does not check its pages: at a damaged one it panics, faults, or loops for ever. If the newest meta page is
// damaged, it uses the one before, which lacks the last changes. So this file checks all pages before bbolt opens a
// file. Numbers are in the machine's byte order.
//
//	page   id 8, flags 2, count 2, overflow 4 (pages that follow and belong to it); then elements
//	meta   magic 4, version 4, page size 4, flags 4, root 8, sequence 8, freelist 8, pages 8, transaction 8,
//	       FNV-1a of all that 8
//	branch count times: offset from here 4, key's length 4, child 8
//	leaf   count times: flags 4, offset from here 4, key's length 4, value's length 4; the value of a bucket begins
//	       with root 8 (0: a page follows, within the value) and sequence 8
const (
	pageHead    = 16
	elementSize = 16
	bucketHead  = 16
	metaSize    = 64

	metaMagic   = 0xED0CDAED
	metaVersion = 2

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10

	bucketElement = 0x01
)

var order = binary.NativeEndian

type meta struct{ root, freelist, pages, transaction uint64 }

func parseMeta(b []byte) (meta, bool) {
	sum := fnv.New64a()
	sum.Write(b[:metaSize-8]) // never fails
	ok := order.Uint32(b) == metaMagic && order.Uint32(b[4:]) == metaVersion && order.Uint32(b[8:]) == pageSize && order.Uint64(b[metaSize-8:]) == sum.Sum64()
	return meta{root: order.Uint64(b[16:]), freelist: order.Uint64(b[32:]), pages: order.Uint64(b[40:]), transaction: order.Uint64(b[48:])}, ok
}

// checkPages reads every page that bbolt may follow: each is in the file, has its own number, and is reached once.
func checkPages(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < 4*pageSize { // bbolt creates four pages
		return fmt.Errorf("%w: the file ends at byte %d", ErrDamaged, info.Size())
	}
	var newest meta
	for page := range int64(2) { // a meta page is smaller than a sector, which a disk writes atomically: it is never torn
		b := make([]byte, metaSize)
		if _, err := f.ReadAt(b, page*pageSize+pageHead); err != nil {
			return err
		}
		m, ok := parseMeta(b)
		if !ok {
			return fmt.Errorf("%w: meta page %d", ErrDamaged, page)
		}
		if page == 0 || m.transaction > newest.transaction {
			newest = m
		}
	}
	if newest.pages > uint64(info.Size())/pageSize {
		return fmt.Errorf("%w: the file ends at byte %d of %d", ErrDamaged, info.Size(), newest.pages*pageSize)
	}
	w := &walk{file: f, pages: newest.pages, seen: map[uint64]bool{}}
	if err := w.follow(newest.root); err != nil {
		return err
	}
	return w.free(newest.freelist)
}

// walk is the state of a check of all pages.
type walk struct {
	file  io.ReaderAt
	pages uint64
	seen  map[uint64]bool
}

func damagedPage(id uint64) error { return fmt.Errorf("%w: page %d", ErrDamaged, id) }

// read returns a page with its overflow pages.
func (w *walk) read(id uint64) ([]byte, error) {
	if id < 2 || id >= w.pages || w.seen[id] {
		return nil, fmt.Errorf("%w: a page refers to page %d", ErrDamaged, id)
	}
	w.seen[id] = true
	b := make([]byte, pageSize)
	if _, err := w.file.ReadAt(b, int64(id)*pageSize); err != nil {
		return nil, err
	}
	more := uint64(order.Uint32(b[12:]))
	if order.Uint64(b) != id || more >= w.pages-id {
		return nil, damagedPage(id)
	}
	for i := range more {
		w.seen[id+1+i] = true
	}
	if more == 0 {
		return b, nil
	}
	b = make([]byte, (1+more)*pageSize)
	_, err := w.file.ReadAt(b, int64(id)*pageSize)
	return b, err
}

// follow checks a page and all pages below it.
func (w *walk) follow(id uint64) error {
	b, err := w.read(id)
	if err != nil {
		return err
	}
	return w.elements(id, b)
}

func (w *walk) elements(id uint64, b []byte) error {
	if len(b) < pageHead {
		return damagedPage(id)
	}
	kind, n := order.Uint16(b[8:]), int(order.Uint16(b[10:]))
	if kind != leafPage && (kind != branchPage || n == 0) || pageHead+n*elementSize > len(b) {
		return damagedPage(id)
	}
	for i := range n {
		here := b[pageHead+i*elementSize:]
		if kind == leafPage {
			if err := w.leaf(id, here); err != nil {
				return err
			}
			continue
		}
		if uint64(order.Uint32(here))+uint64(order.Uint32(here[4:])) > uint64(len(here)) {
			return damagedPage(id)
		}
		if err := w.follow(order.Uint64(here[8:])); err != nil {
			return err
		}
	}
	return nil
}

// leaf checks an element of page id. here begins at the element.
func (w *walk) leaf(id uint64, here []byte) error {
	value := uint64(order.Uint32(here[4:])) + uint64(order.Uint32(here[8:]))
	size := uint64(order.Uint32(here[12:]))
	if value+size > uint64(len(here)) {
		return damagedPage(id)
	}
	if order.Uint32(here)&bucketElement == 0 {
		return nil
	}
	bucket := here[value : value+size]
	if size < bucketHead {
		return damagedPage(id)
	}
	if root := order.Uint64(bucket); root != 0 {
		return w.follow(root)
	}
	return w.elements(id, bucket[bucketHead:])
}

// free checks the list of free pages. If the count does not fit in its field, it precedes the first of them.
func (w *walk) free(id uint64) error {
	b, err := w.read(id)
	if err != nil {
		return err
	}
	list, n := b[pageHead:], uint64(order.Uint16(b[10:]))
	if n == 0xFFFF {
		n, list = order.Uint64(list), list[8:]
	}
	if order.Uint16(b[8:]) != freelistPage || n > uint64(len(list)/8) {
		return damagedPage(id)
	}
	for i := range n {
		if page := order.Uint64(list[8*i:]); page < 2 || page >= w.pages || w.seen[page] {
			return fmt.Errorf("%w: page %d, that page %d is free", ErrDamaged, id, page)
		}
	}
	return nil
}
