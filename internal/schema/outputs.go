package schema

// Outputs of a deployed stack. The CDK app writes them, the command line's --stack reads them. Names are as
// CloudFormation wants them: letters and digits.
const (
	// OutboxTableOutput is the table's name.
	OutboxTableOutput = "LandfallOutboxTable"
	// ReceiptsTableOutput and ControlTableOutput are the names of the tables for routing, QueuePrefixOutput is the prefix
	// of the names of the stack's queues.
	ReceiptsTableOutput = "LandfallReceiptsTable"
	ControlTableOutput  = "LandfallControlTable"
	QueuePrefixOutput   = "LandfallQueuePrefix"
	// ConfigOutput is the SHA-256, in hex, of the resolved configuration that the functions have.
	ConfigOutput = "LandfallConfig"
	// ConsumerPoliciesOutput are the policies for the consumers of groups: group=ARN, with commas between them.
	ConsumerPoliciesOutput = "LandfallConsumerPolicies"
	// SingleConsumerPoliciesOutput are the policies for single consumers: group/consumer=ARN, with commas between them.
	SingleConsumerPoliciesOutput = "LandfallSingleConsumerPolicies"
	// DashboardOutput is the dashboard's name.
	DashboardOutput = "LandfallDashboard"
	// WriterPoliciesOutput are the ARNs of the policies for writers of rows, with commas between them.
	WriterPoliciesOutput = "LandfallWriterPolicies"
	// DestinationWriterPoliciesOutput are the policies for writers of single destinations: destination=ARN, with commas
	// between them.
	DestinationWriterPoliciesOutput = "LandfallDestinationWriterPolicies"
	// FunctionOutput with a function's name behind it, its first letter a capital, is that function's name in Lambda.
	FunctionOutput = "LandfallFunction"
)
