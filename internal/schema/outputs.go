package schema

// Outputs of a deployed stack. The CDK app writes them, the command line's --stack reads them. Names are as
// CloudFormation wants them: letters and digits.
const (
	// OutboxTableOutput is the table's name.
	OutboxTableOutput = "LandfallOutboxTable"
	// DashboardOutput is the dashboard's name.
	DashboardOutput = "LandfallDashboard"
	// WriterPoliciesOutput are the ARNs of the policies for writers of rows, with commas between them.
	WriterPoliciesOutput = "LandfallWriterPolicies"
	// FunctionOutput and a function's name, its first letter a capital, is what Lambda calls that function.
	FunctionOutput = "LandfallFunction"
)
