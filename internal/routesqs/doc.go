// Package routesqs implements the ports of package routing on SQS and Lambda: the ingress queues, the consumers behind
// queues and functions, the loads of queues, and the dead-letter queues.
//
// A forward is sent once: the SDK does not repeat it, and a forward that may have been taken is never reported as refused. Body and attributes stay as they were, byte for byte; one attribute comes in addition, the
// [routing.Envelope], or in a dead letter the [Letter].
//
// No error and no answer's text contains a receipt handle, a token, a body or an attribute.
package routesqs
