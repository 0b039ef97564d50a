// Package devstack runs built Lambda functions on this machine as AWS would run them.
//
// It starts the very executables that are deployed, each against a Lambda runtime API of its own
// (https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html) on 127.0.0.1: a process serves
// one invocation at a time, is kept for the next one, and is killed when its time is over. What
// Lambda does to a function that panics, exits, hangs or answers too much, this package does too,
// with the same words. Schedules send what an EventBridge rule sends, by Lambda's rules for
// asynchronous invocations. Event source mappings invoke functions with the messages of SQS queues.
//
// It is for desks, demonstrations and tests. It is not a sandbox: the function learns its memory limit, which is not
// enforced; the function sees the machine's files and network; an idle process is not frozen; a
// child that leaves its process group (setsid) is out of reach. It is not a Lambda service: functions
// cannot be created over the network, and Invoke is the only operation.
//
// A function gets a small environment of its own. The developer's variables, and with them the
// developer's AWS credentials, do not reach it.
package devstack
