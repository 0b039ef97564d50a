package landfallcdk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFunctionsReachOnlyTheirSecretsAndFunctions checks both roles against their destinations and lookups.
func TestFunctionsReachOnlyTheirSecretsAndFunctions(t *testing.T) {
	got := synth(t, props(t, `
destinations:
  both:
    http: "https://a.example.com/"
    deduplicates: never
    secret: partner/api
    lookup: {http: "https://a.example.com/{idempotency_key}", rules: [{status: 404, then: not_found}]}
  sent:
    http: "https://b.example.com/"
    deduplicates: never
    secret: {name: "arn:aws:secretsmanager:eu-west-1:123456789012:secret:sent-AbCdEf", header: X-Api-Key}
    lookup: {lambda: ask:live}
  asked:
    http: "https://c.example.com/"
    deduplicates: never
    lookup: {http: "https://c.example.com/{idempotency_key}", secret: read-only, rules: [{status: 404, then: not_found}]}
  gone: {http: "https://d.example.com/", deduplicates: never, retired: true, secret: gone, lookup: {lambda: "arn:aws:lambda:eu-west-1:123456789012:function:ask"}}
`))
	ours := func(rest string) string {
		service := "secretsmanager"
		if rest == "function:ask:live" {
			service = "lambda"
		}
		return `{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":` + service + `:",{"Ref":"AWS::Region"},":",{"Ref":"AWS::AccountId"},":` + rest + `"]]}`
	}
	for name, want := range map[string]map[string][]string{
		"Dispatch": {
			"secretsmanager:GetSecretValue": {`"arn:aws:secretsmanager:eu-west-1:123456789012:secret:sent-AbCdEf"`, ours("secret:partner/api-??????")},
		},
		"Reconcile": {
			"secretsmanager:GetSecretValue": {ours("secret:partner/api-??????"), ours("secret:read-only-??????")},
			"lambda:InvokeFunction":         {`"arn:aws:lambda:eu-west-1:123456789012:function:ask"`, ours("function:ask:live")},
		},
	} {
		_, policy := got.one("IAM::Policy", "Landfall"+name+"RoleDefaultPolicy")
		allowed := map[string][]string{}
		for _, s := range policy.Properties.at("PolicyDocument.Statement").([]any) {
			statement := properties(s.(map[string]any))
			action, ok := statement["Action"].(string)
			if _, named := want[action]; !ok || !named && action != "secretsmanager:GetSecretValue" && action != "lambda:InvokeFunction" {
				continue
			}
			for _, resource := range several(statement["Resource"]) {
				allowed[action] = append(allowed[action], text(t, resource))
			}
		}
		if diff := cmp.Diff(want, allowed); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func several(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}
