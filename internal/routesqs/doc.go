// Package routesqs is what package routing needs of SQS and Lambda: the ingress queues, the consumers behind queues
// and functions, and the dead-letter queues.
//
// A forward goes out once, whatever becomes of it: what may have been taken is never called refused, and the SDK does
// not repeat it. Body and attributes stay as they were, byte for byte; one attribute comes in addition, the
// [routing.Envelope], or in a dead letter the [Letter].
//
// No error and no answer's text contains a receipt handle, a token, a body or an attribute.
package routesqs
