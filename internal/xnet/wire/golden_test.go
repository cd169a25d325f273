package wire

// This file has headers from native libfabric, captured on loopback with tcpdump. "1.17" is Debian's libfabric
// 1.17.0, and "2.6" is the 2.6 release series. Both are release builds, which do not set id. A native 2.6 has sent
// the big-endian headers to a scripted peer that claimed to be big-endian.

type golden struct {
	name  string
	from  string
	order Order
	hex   string
	want  Header
}

const key = 0xc0ffee

var goldens = []golden{
	{"send", "1.17 2.6", Little, "03000000000010001d00000000000000",
		Header{Op: OpMsg, HdrLen: 16, Size: 29}},
	{"send with CQ data", "1.17 2.6", Little, "030001000000180021000000000000008877665544332211",
		Header{Op: OpMsg, Flags: FlagCQData, HdrLen: 24, Size: 33, CQData: 0x1122334455667788}},
	{"send, delivery complete", "1.17 2.6", Little, "03000400000010001a00000000000000",
		Header{Op: OpMsg, Flags: FlagDelivery, HdrLen: 16, Size: 26}},
	{"send of nothing", "1.17 2.6", Little, "03000000000010001000000000000000",
		Header{Op: OpMsg, HdrLen: 16, Size: 16}},
	{"ack of delivery complete", "1.17 2.6", Little, "03000000020010001000000000000000",
		Header{Op: OpMsg, OpData: OpDataAck, HdrLen: 16, Size: 16}},
	{"write", "1.17 2.6", Little, "03040000000128002f00000000000000" +
		"40000000000000000700000000000000eeffc00000000000", Header{Op: OpWrite, IovCnt: 1, HdrLen: 40, Size: 47,
		IOV: [4]RMAIov{{0x40, 7, key}}}},
	{"write with CQ data", "1.17 2.6", Little, "03040100000130003500000000000000" + "1807f6e5d4c3b2a1" +
		"40000000000000000500000000000000eeffc00000000000",
		Header{Op: OpWrite, Flags: FlagCQData, IovCnt: 1, HdrLen: 48, Size: 53, CQData: 0xa1b2c3d4e5f60718,
			IOV: [4]RMAIov{{0x40, 5, key}}}},
	{"write of two segments, CQ data, delivery complete", "1.17 2.6", Little,
		"03040500000248005200000000000000" + "7700000000000000" +
			"40000000000000000400000000000000eeffc00000000000" + "40010000000000000600000000000000eeffc00000000000",
		Header{Op: OpWrite, Flags: FlagCQData | FlagDelivery, IovCnt: 2, HdrLen: 72, Size: 82, CQData: 0x77,
			IOV: [4]RMAIov{{0x40, 4, key}, {0x140, 6, key}}}},
	{"write, commit complete", "1.17 2.6", Little,
		"03040800000128002e00000000000000" + "40000000000000000600000000000000eeffc00000000000",
		Header{Op: OpWrite, Flags: FlagCommit, IovCnt: 1, HdrLen: 40, Size: 46, IOV: [4]RMAIov{{0x40, 6, key}}}},
	{"write of four segments with CQ data, the longest header", "1.17 2.6", Little,
		"03040100000478007c00000000000000" + "0807060504030201" +
			"40000000000000000100000000000000eeffc00000000000" + "41000000000000000100000000000000eeffc00000000000" +
			"42000000000000000100000000000000eeffc00000000000" + "43000000000000000100000000000000eeffc00000000000",
		Header{Op: OpWrite, Flags: FlagCQData, IovCnt: 4, HdrLen: 120, Size: 124, CQData: 0x0102030405060708,
			IOV: [4]RMAIov{{0x40, 1, key}, {0x41, 1, key}, {0x42, 1, key}, {0x43, 1, key}}}},
	{"read request", "1.17 2.6", Little,
		"03020000000128002800000000000000" + "40000000000000000700000000000000eeffc00000000000",
		Header{Op: OpReadReq, IovCnt: 1, HdrLen: 40, Size: 40, IOV: [4]RMAIov{{0x40, 7, key}}}},
	{"read request of two segments", "1.17 2.6", Little, "03020000000240004000000000000000" +
		"40000000000000000400000000000000eeffc00000000000" + "40010000000000000600000000000000eeffc00000000000",
		Header{Op: OpReadReq, IovCnt: 2, HdrLen: 64, Size: 64, IOV: [4]RMAIov{{0x40, 4, key}, {0x140, 6, key}}}},
	{"read response; the segment count is a left-over", "1.17 2.6", Little, "03030000000110001700000000000000",
		Header{Op: OpReadRsp, IovCnt: 1, HdrLen: 16, Size: 23}},
	{"read response of two segments", "1.17 2.6", Little, "03030000000210001a00000000000000",
		Header{Op: OpReadRsp, IovCnt: 2, HdrLen: 16, Size: 26}},
	{"tagged send", "1.17 net, 2.6 rdm", Little, "03010000000018001e000000000000004200000000000010",
		Header{Op: OpTag, HdrLen: 24, Size: 30, Tag: 0x1000000000000042}},
	{"tagged send with CQ data", "1.17 net, 2.6 rdm", Little,
		"03010100000020002800000000000000" + "d7d6d5d4d3d2d1d04300000000000000",
		Header{Op: OpTag, Flags: FlagCQData, HdrLen: 32, Size: 40, CQData: 0xd0d1d2d3d4d5d6d7, Tag: 0x43}},
	{"tagged send, delivery complete", "1.17 net, 2.6 rdm", Little, "03010400000018001e000000000000004400000000000000",
		Header{Op: OpTag, Flags: FlagDelivery, HdrLen: 24, Size: 30, Tag: 0x44}},
	{"rendezvous: request", "2.6 rdm", Little, "03050000010020002000000000000000" + "45000000000000009001000000000000",
		Header{Op: OpTagRTS, OpData: 1, HdrLen: 32, Size: 32, Tag: 0x45, MsgSize: 400}},
	{"rendezvous: clear to send", "2.6 rdm", Little, "03060000010010001000000000000000",
		Header{Op: OpCTS, OpData: 1, HdrLen: 16, Size: 16}},
	{"rendezvous: data", "2.6 rdm", Little, "0307000001001000a001000000000000",
		Header{Op: OpData, OpData: 1, HdrLen: 16, Size: 416}},
	{"rendezvous: request with CQ data", "2.6 rdm", Little, "03050100010028002800000000000000" +
		"e7e6e5e4e3e2e1e046000000000000002c01000000000000",
		Header{Op: OpTagRTS, Flags: FlagCQData, OpData: 1, HdrLen: 40, Size: 40, CQData: 0xe0e1e2e3e4e5e6e7, Tag: 0x46,
			MsgSize: 300}},
	{"rendezvous: data; the flag is a left-over", "2.6 rdm", Little, "03070100010010003c01000000000000",
		Header{Op: OpData, Flags: FlagCQData, OpData: 1, HdrLen: 16, Size: 316}},
	{"rendezvous: request with CQ data, delivery complete", "2.6 rdm", Little, "03050500010028002800000000000000" +
		"990000000000000047000000000000005e01000000000000",
		Header{Op: OpTagRTS, Flags: FlagCQData | FlagDelivery, OpData: 1, HdrLen: 40, Size: 40, CQData: 0x99, Tag: 0x47,
			MsgSize: 350}},
	{"rendezvous: data, delivery complete", "2.6 rdm", Little, "03070500010010006e01000000000000",
		Header{Op: OpData, Flags: FlagCQData | FlagDelivery, OpData: 1, HdrLen: 16, Size: 366}},
	{"tagged send of ofi_rxm", "1.17 tcp;ofi_rxm", Little, "03008000000018001e000000000000004200000000000010",
		Header{Op: OpMsg, Flags: FlagTagged, HdrLen: 24, Size: 30, Tag: 0x1000000000000042}},
	{"tagged send of ofi_rxm with CQ data", "1.17 tcp;ofi_rxm", Little,
		"03008100000020002800000000000000" + "d7d6d5d4d3d2d1d04300000000000000",
		Header{Op: OpMsg, Flags: FlagCQData | FlagTagged, HdrLen: 32, Size: 40, CQData: 0xd0d1d2d3d4d5d6d7, Tag: 0x43}},

	{"send", "2.6", Big, "0300000000001000000000000000001d",
		Header{Op: OpMsg, HdrLen: 16, Size: 29}},
	{"send with CQ data", "2.6", Big, "030000010000180000000000000000211122334455667788",
		Header{Op: OpMsg, Flags: FlagCQData, HdrLen: 24, Size: 33, CQData: 0x1122334455667788}},
	{"send, delivery complete", "2.6", Big, "0300000400001000000000000000001a",
		Header{Op: OpMsg, Flags: FlagDelivery, HdrLen: 16, Size: 26}},
	{"write of two segments, CQ data, delivery complete", "2.6", Big,
		"03040005000248000000000000000052" + "0000000000000077" +
			"000000000000004000000000000000040000000000c0ffee" + "000000000000014000000000000000060000000000c0ffee",
		Header{Op: OpWrite, Flags: FlagCQData | FlagDelivery, IovCnt: 2, HdrLen: 72, Size: 82, CQData: 0x77,
			IOV: [4]RMAIov{{0x40, 4, key}, {0x140, 6, key}}}},
	{"write, commit complete", "2.6", Big,
		"0304000800012800000000000000002e" + "000000000000004000000000000000060000000000c0ffee",
		Header{Op: OpWrite, Flags: FlagCommit, IovCnt: 1, HdrLen: 40, Size: 46, IOV: [4]RMAIov{{0x40, 6, key}}}},
	{"read request of two segments", "2.6", Big, "03020000000240000000000000000040" +
		"000000000000004000000000000000040000000000c0ffee" + "000000000000014000000000000000060000000000c0ffee",
		Header{Op: OpReadReq, IovCnt: 2, HdrLen: 64, Size: 64, IOV: [4]RMAIov{{0x40, 4, key}, {0x140, 6, key}}}},
	{"tagged send", "2.6 rdm", Big, "0301000000001800000000000000001e1000000000000042",
		Header{Op: OpTag, HdrLen: 24, Size: 30, Tag: 0x1000000000000042}},
	{"tagged send with CQ data", "2.6 rdm", Big,
		"03010001000020000000000000000028" + "d0d1d2d3d4d5d6d70000000000000043",
		Header{Op: OpTag, Flags: FlagCQData, HdrLen: 32, Size: 40, CQData: 0xd0d1d2d3d4d5d6d7, Tag: 0x43}},
	{"rendezvous: request", "2.6 rdm", Big, "03050000010020000000000000000020" + "00000000000000450000000000000190",
		Header{Op: OpTagRTS, OpData: 1, HdrLen: 32, Size: 32, Tag: 0x45, MsgSize: 400}},
}

// extensions are headers of gofabric's own operations, written by hand.
var extensions = []golden{
	{"atomic sum of a u64, delivery complete", "", Little,
		"03200402070128003000000000000000" + "40000000000000000800000000000000eeffc00000000000",
		Header{Op: OpAtomic, Flags: FlagDelivery, OpData: 7, Atomic: 2, IovCnt: 1, HdrLen: 40, Size: 48,
			IOV: [4]RMAIov{{0x40, 8, key}}}},
	{"atomic sum of a u64 with CQ data", "", Big,
		"03200201070130000000000000000038" + "0000000000000077" + "0000000000000040" + "0000000000000008" +
			"0000000000c0ffee", Header{Op: OpAtomic, Flags: FlagCQData, OpData: 7, Atomic: 2, IovCnt: 1, HdrLen: 48,
			Size: 56, CQData: 0x77, IOV: [4]RMAIov{{0x40, 8, key}}}},
	{"atomic fetch", "", Little, "03210002050128002c00000000000000" +
		"40000000000000000400000000000000eeffc00000000000", Header{Op: OpAtomicFetch, OpData: 5, Atomic: 2, IovCnt: 1,
		HdrLen: 40, Size: 44, IOV: [4]RMAIov{{0x40, 4, key}}}},
	{"atomic read", "", Little, "0321000a050128002800000000000000" + "40000000000000000400000000000000eeffc00000000000",
		Header{Op: OpAtomicFetch, OpData: 5, Atomic: AtomicRead, IovCnt: 1, HdrLen: 40, Size: 40,
			IOV: [4]RMAIov{{0x40, 4, key}}}},
	{"atomic compare and swap of two ranges", "", Little,
		"0322000c070240006000000000000000" + "40000000000000000800000000000000eeffc00000000000" +
			"40010000000000000800000000000000eeffc00000000000",
		Header{Op: OpAtomicCompare, OpData: 7, Atomic: 12, IovCnt: 2, HdrLen: 64, Size: 96,
			IOV: [4]RMAIov{{0x40, 8, key}, {0x140, 8, key}}}},
	{"step of a collective operation", "", Little,
		"03380000000020002800000000000000" + "0203000078563412" + "0500000000000000",
		Header{Op: OpColl, HdrLen: 32, Size: 40, Tag: 0x12345678_00000302, CQData: 5}},
	{"end of a group", "", Big, "03380000000020000000000000000020" + "1234567800000000" + "8000006800000005",
		Header{Op: OpColl, HdrLen: 32, Size: 32, Tag: 0x12345678_00000000, CQData: CollAbort | 104<<32 | 5}},
	{"atomic response", "", Little, "03230000000010001800000000000000",
		Header{Op: OpAtomicRsp, HdrLen: 16, Size: 24}},
}

type cmGolden struct {
	name string
	from string
	hex  string
	want CM
	blob *RDMBlob // if the data has one
}

var cmGoldens = []cmGolden{
	{"request with data", "1.17 2.6", "0300000600000000000000000000000000000000000000000100000000000000" +
		"6d617920493f", CM{Type: CMConnReq, OrderMark: 1, Data: []byte("may I?")}, nil},
	{"request without data", "1.17 2.6", "0300000000000000000000000000000000000000000000000100000000000000",
		CM{Type: CMConnReq, OrderMark: 1}, nil},
	{"rejection with data", "1.17 2.6", "0306000800000000000000000000000000000000000000000000000000000000" +
		"6e6f2c2062757379", CM{Type: CMReject, Data: []byte("no, busy")}, nil},
	{"rejection without data", "1.17 2.6", "0306000000000000000000000000000000000000000000000000000000000000",
		CM{Type: CMReject}, nil},
	{"answer with data", "1.17 2.6", "0301000800000000000000000000000000000000000000000100000000000000" +
		"77656c636f6d6521", CM{Type: CMConnResp, OrderMark: 1, Data: []byte("welcome!")}, nil},
	{"rdm request, version 1", "2.6", "0300000800000000000000000000000000000000000000000100000000000000" +
		"0100434a0000411d", CM{Type: CMConnReq, OrderMark: 1, Data: []byte{1, 0, 0x43, 0x4a, 0, 0, 0x41, 0x1d}},
		&RDMBlob{Version: 1, Port: 17226, PID: 0x411d}},
	{"rdm answer, version 1", "2.6", "0301000800000000000000000000000000000000000000000100000000000000" +
		"8100434a000040f1", CM{Type: CMConnResp, OrderMark: 1, Data: []byte{0x81, 0, 0x43, 0x4a, 0, 0, 0x40, 0xf1}},
		&RDMBlob{Version: 0x81, Port: 17226, PID: 0x40f1}},
	{"rdm request, version 0", "1.17 net",
		"0300000800000000000000000000000000000000000000000100000000000000" + "0000435f00004fe6",
		CM{Type: CMConnReq, OrderMark: 1, Data: []byte{0, 0, 0x43, 0x5f, 0, 0, 0x4f, 0xe6}},
		&RDMBlob{Port: 17247, PID: 0x4fe6}},
	{"rdm answer, version 0", "1.17 net",
		"0301000800000000000000000000000000000000000000000100000000000000" + "0000435f00004fcf",
		CM{Type: CMConnResp, OrderMark: 1, Data: []byte{0, 0, 0x43, 0x5f, 0, 0, 0x4f, 0xcf}},
		&RDMBlob{Port: 17247, PID: 0x4fcf}},
	{"ofi_rxm request over tcp", "1.17", "0300001800000000000000000000000000000000000000000100000000000000" +
		"0102040341430200004000000010000000000000a5430000",
		CM{Type: CMConnReq, OrderMark: 1, Data: []byte{1, 2, 4, 3, 0x41, 0x43, 2, 0, 0, 0x40, 0, 0, 0, 0x10,
			0, 0, 0, 0, 0, 0, 0xa5, 0x43, 0, 0}}, nil},
}
