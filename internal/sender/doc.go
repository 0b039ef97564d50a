// Package sender has the senders, one kind of destination a file. A sender makes one attempt at an effect and reports
// what is known of it; what follows is the domain's to decide ([outbox.Decide]), and no sender repeats anything itself.
//
// sendertest is the suite that each of them passes.
package sender
