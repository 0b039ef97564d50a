package functiontest

import (
	"syscall"
	"testing"
	"time"
)

// ReportCPU resets a benchmark's timer. The returned function reports, as "cpu-ns/op", the CPU time that the process has
// used since, garbage collection included. The benchmark's ns/op also has the time of other programs on the machine.
func ReportCPU(b *testing.B) (report func()) {
	b.Helper()
	begun := cpuTime(b)
	b.ResetTimer()
	return func() { b.ReportMetric(float64(cpuTime(b)-begun)/float64(b.N), "cpu-ns/op") }
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
