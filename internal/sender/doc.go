// Package sender holds the senders, one file for each kind of destination. A sender makes one attempt at an effect and
// reports what is known of it. It repeats nothing and decides nothing: what follows is the domain's ([outbox.Decide]).
//
// Every sender passes the suite of package sendertest.
package sender
