package sim

import "time"

// What is promised, in the law's own numbers. No time is taken from the code under test: a world whose clocks were wrong
// by half of the code's own margin could not tell whether that margin is wide enough. The mutants of constants.go
// prove that worlds notice when the code's numbers are others.
const (
	// margin is the 5 s of docs/architecture.md: two clocks differ by at most so much ("May it be sent again?", I2), and a
	// request leaves within so much of the check before it (the assumptions). A claim is not sent later after it was made
	// (I3).
	margin = 5 * time.Second
	// settleTime is how much longer than send_timeout a claim lives: the time left to settle in (I3).
	settleTime = 10 * time.Second
	// sweepClaimsFor and fastPathClaimsFor are how long a run begins to claim what is new: a sweep ends before the next
	// but one begins, and the batches of the stream do not wait for each other ("The path of an effect").
	sweepClaimsFor    = 55 * time.Second
	fastPathClaimsFor = 10 * time.Second
	// controlsFor is how old a pause or limit is that counts for every run that begins (docs/operations.md, "Pause").
	controlsFor = 5 * time.Second
	// trusted is by how much a process's clock may differ from the table's and still be relied on. Beyond it, an answer
	// proves it if it took less than the rest: a Date is dateWidth wide. The process rests for restsFor (docs/architecture.md,
	// the third assumption).
	trusted   = 2500 * time.Millisecond
	dateWidth = time.Second
	restsFor  = time.Minute
	// concurrencyOfARun is how many sends of all destinations a run may have in flight.
	concurrencyOfARun = 16
)
