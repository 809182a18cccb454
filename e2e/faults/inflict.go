package faults

// inflict begins a fault; mend ends it.
func (b *Bank) inflict(f Fault) {
	b.t.Helper()
	switch f.Victim {
	case bridgeA, bridgeB:
		b.inflictBridge(b.bridges[f.Victim], f)
	case job:
		b.inflictJob(f)
	default:
		b.inflictServer(b.servers[f.Victim], f)
	}
}

func (b *Bank) mend(f Fault) {
	b.t.Helper()
	switch f.Victim {
	case bridgeA, bridgeB:
		b.mendBridge(b.bridges[f.Victim], f)
	case job:
		b.mendJob(f)
	default:
		b.mendServer(b.servers[f.Victim], f)
	}
}

func (b *Bank) inflictBridge(bridge *bridge, f Fault) {
	if f.Kind == "kill" {
		bridge.kill()
		return
	}
	bridge.freeze()
}

func (b *Bank) mendBridge(bridge *bridge, f Fault) {
	if f.Kind == "kill" {
		bridge.start()
		return
	}
	bridge.wake()
}

func (b *Bank) inflictJob(f Fault) {
	b.t.Helper()
	switch f.Kind {
	case "kill", "rewind":
		b.job.kill()
	case "lose task manager":
		b.job.fail()
	case "delete checkpoint":
		b.job.deleteHalf(f.N)
	default:
		b.t.Fatalf("nobody knows how to do this: %v", f)
	}
}

func (b *Bank) mendJob(f Fault) {
	b.t.Helper()
	switch f.Kind {
	case "kill":
		b.job.restore(false)
	case "rewind":
		b.job.restore(true)
	case "delete checkpoint":
		b.job.deleteRest()
	}
}

func (b *Bank) inflictServer(s *server, f Fault) {
	b.t.Helper()
	switch f.Kind {
	case "kill":
		b.must(s.crash())
	case "set back":
		b.must(s.setBack())
	case "empty":
		s.kill()
		b.must(s.empty())
	case "cut":
		s.proxy.CutAfter(f.N/2%cutWithin, f.N%2 == 0)
	case "stall":
		s.proxy.Stall(true)
	case "refuse":
		s.proxy.Refuse(true)
	case "end backend":
		b.killBackend(f.N)
	default:
		b.t.Fatalf("nobody knows how to do this: %v", f)
	}
}

// cutWithin bounds the bytes that still pass before a cut: some hundred changes.
const cutWithin = 64 << 10

func (b *Bank) mendServer(s *server, f Fault) {
	b.t.Helper()
	switch f.Kind {
	case "set back", "empty":
		b.excuse(s)
		b.must(s.restart(b.t.Context()))
	case "kill":
		b.must(s.restart(b.t.Context()))
	case "cut":
		s.proxy.Cut() // if nothing went that way
	case "stall":
		s.proxy.Stall(false)
	case "refuse":
		s.proxy.Refuse(false)
	}
}

// excuse lets a target go back whose files were, and both targets where the stream that they follow was.
func (b *Bank) excuse(s *server) {
	if s.name != cache {
		b.auditor.at.grant()
	}
	if s.name != database {
		b.epochs.at.grant()
		b.swapped.at.grant()
	}
}
