package expr

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
)

func item(t *testing.T, text string) attr.Map {
	t.Helper()
	var m attr.Map
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

const thing = `{"a":{"S":"hello"},"n":{"N":"5"},"m":{"N":"5.0"},"t":{"BOOL":true},"z":{"NULL":true},"b":{"B":"AAEC"},
	"l":{"L":[{"N":"1"},{"S":"two"},{"M":{"x":{"S":"deep"}}}]},"d":{"M":{"x":{"S":"in"},"y":{"M":{"w":{"N":"7"}}}}},
	"ss":{"SS":["p","q"]},"ns":{"NS":["1","2"]},"blank":{"S":""},"u":{"S":"é😀"}}`

const literals = `{":hello":{"S":"hello"},":he":{"S":"he"},":ell":{"S":"ell"},":five":{"N":"5.00"},":four":{"N":"4"},":six":{"N":"6"},":t":{"BOOL":true},
	":two":{"S":"two"},":p":{"S":"p"},":one":{"N":"1"},":S":{"S":"S"},":M":{"S":"M"},":b":{"B":"AAE="},":z":{"NULL":true},":list":{"L":[]},":map":{"M":{}},
	":ss":{"SS":["q","p"]},":three":{"N":"3"},":empty":{"S":""},":x":{"S":"X"}}`

func scope(t *testing.T) *Scope {
	return &Scope{Values: item(t, literals), Names: map[string]string{"#a": "a", "#dot": "a.b", "#x": "x", "#status": "status"}}
}

func TestConditionHoldsExactlyWhenTheServiceSaysSo(t *testing.T) {
	t.Parallel()
	it := item(t, thing)
	for src, want := range map[string]bool{
		"a = :hello": true, "#a = :hello": true, "a <> :hello": false, "a = :he": false, "a > :he": true, ":he < a": true,
		"n = m": true, "n = :five": true, "n < :six AND n > :four": true, "n <= m": true, "n >= :six": false,
		"n = :hello": false, "n < :hello": false, "n <> :hello": true, "nope = :hello": false, "nope <> :hello": true, "nope < :hello": false,
		"nope = nope2": false, "nope <> nope2": true, "#dot = :hello": false, "blank = :empty": true, "blank < a": true,
		"n BETWEEN :four AND :six": true, "n between :five and :six": true, "n BETWEEN :one AND :four": false, "nope BETWEEN :four AND :six": false,
		"n BETWEEN :four AND :six AND a = :hello": true, "a IN (:he, :hello)": true, "a IN (:he)": false, "nope IN (:he)": false, "n IN (m)": true,
		"attribute_exists(a)": true, "attribute_exists(d.x)": true, "attribute_exists(d.nope)": false, "attribute_exists(l[2].x)": true,
		"attribute_exists(l[3])": false, "attribute_exists(a[0])": false, "attribute_exists(a.b)": false, "attribute_not_exists(nope)": true,
		"attribute_not_exists(d.y.w)": false, "attribute_type(a, :S)": true, "attribute_type(d, :M)": true, "attribute_type(n, :S)": false,
		"attribute_type(nope, :S)": false, "begins_with(a, :he)": true, "begins_with(a, :ell)": false, "begins_with(b, :b)": true,
		"begins_with(n, :he)": false, "begins_with(nope, :he)": false, "begins_with(a, :empty)": true, "contains(a, :ell)": true, "contains(ss, :p)": true,
		"contains(ns, :one)": true, "contains(ns, :three)": false, "contains(l, :two)": true, "contains(l, :p)": false, "contains(n, :five)": false, "contains(ss, :ss)": false,
		"size(a) = :five": true, "size(l) = :three": true, "size(ss) > :one": true, "size(d) > :one": true, "size(n) = :one": false, "size(nope) < :six": false,
		"size(b) = :three": true, "size(:hello) = :five": true, "size(blank) < :one": true, "size(u) = :three": true,
		"NOT a = :hello": false, "NOT a = :he AND n = m": true, "NOT (a = :he AND n = m)": true, "a = :he OR a = :hello AND n = m": true,
		"(a = :he OR a = :hello) AND n = :six": false, "a = :he AND n = :six OR n = m": true, "NOT NOT a = :hello": true, "(a) = (:hello)": true,
		"NOT a = :he OR n = :six": true, "(a = :hello)": true, "(a = :hello) AND (n = m)": true, "((a = :he) OR (n = m))": true, "l[1] = :two": true, "d.x <> a": true,
		"ss = :ss": true, "t = :t": true, "z = :z": true, "l = :list": false, "d.#x = :x": false, "l[2].#x <> :x": true,
	} {
		c, err := ParseCondition(src, scope(t))
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got := c.Matches(it); got != want {
			t.Errorf("%s is %t, want %t", src, got, want)
		}
	}
	c, err := ParseCondition("attribute_not_exists(a)", scope(t))
	if err != nil || !c.Matches(nil) {
		t.Errorf("an item that does not exist has an attribute: %v", err)
	}
}

func TestConditionIsRefusedBeforeItIsTried(t *testing.T) {
	t.Parallel()
	operators := strings.Repeat("a = :he OR ", 200) + "a = :he" // 200 OR and 201 =
	in := func(n int) string { return "a IN (" + strings.Repeat(":he,", n-1) + ":he)" }
	for src, want := range map[string]string{
		"": "can not be empty", "   ": "can not be empty", "a": `Syntax error; token: "<EOF>", near: "a"`, ":he": "Syntax error",
		"a = ": `Syntax error; token: "<EOF>", near: "= "`, "a = :hello b": `Syntax error; token: "b", near: ":hello b"`, "= :he": "Syntax error", "a == :he": "Syntax error", "a = :he AND": "Syntax error",
		"a AND b": "Syntax error", "a AND a = :he": `token: "AND"`, "a = (a = :he)": `token: ")"`, "(a = :he": "Syntax error", "a = :he)": "Syntax error", "a ! b": `token: "!"`, "a = 'x'": `token: "'"`, "a = 5": "Syntax error", "a[b] = :he": "Syntax error",
		"a[-1] = :he": "Syntax error", "a[99999999999] = :he": "not within the allowable range", "a..b = :he": "Syntax error", ".a = :he": "Syntax error", "a. = :he": "Syntax error", "1a = :he": "Syntax error",
		"status = :he": "reserved keyword: status", "d.Name = :he": "reserved keyword: Name", "#nope = :he": "not defined; attribute name: #nope", "a = :nope": "not defined; attribute value: :nope", "# = :he": "Syntax error", "a = :": "Syntax error",
		"((a = :he))": "redundant parentheses", "((a)) = :he": "redundant parentheses", "foo(a)": "Invalid function name; function: foo", "Size(a) = :one": "Invalid function name", "if_not_exists(a, :he) = :he": "not allowed to be used this way",
		"size(a)": "Syntax error", "attribute_exists(a) = :t": "Syntax error", "attribute_exists(a, b)": "number of operands: 2", "begins_with(a)": "number of operands: 1", "begins_with()": "Syntax error", "begins_with(a, :five)": "begins_with, operand type: N",
		"attribute_exists(:he)": "requires a document path", "attribute_type(a, :he)": "Invalid attribute type name", "attribute_type(a, :five)": "operand type: N", "attribute_type(a, b)": "operand type", "size(:five) = :one": "size, operand type: N",
		"a < :t": "operand type: BOOL", "a < :list": "operand type: L", "a BETWEEN :six AND :four": "upper bound to be greater", "a BETWEEN :four AND :he": "same data type", "a BETWEEN :t AND :t": "operand type: BOOL", "a BETWEEN :four OR :six": "Syntax error", "a BETWEEN :four": "Syntax error",
		"a = a": "must be distinct", "begins_with(a, a)": "must be distinct", "contains(attribute_exists(a), :he)": "not allowed to be used this way", "NOT a": "Syntax error", "a = NOT :he": "reserved keyword", "a IN ()": "Syntax error", "a IN :he": "Syntax error", in(101): "too many operands; number of operands: 101",
		"a = :he" + strings.Repeat(" ", 4096): "size has exceeded", operators: "too many operators", strings.Repeat("(", 400) + "a": "too many operators", strings.Repeat("NOT ", 400) + "a = :he": "too many operators",
		"a" + strings.Repeat(".b", 32) + " = :he": "too many nesting", "a = :héllo": "Syntax error", "a SET b": "Syntax error", "a = :he,": "Syntax error",
	} {
		_, err := ParseCondition(src, scope(t))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", src, err, want)
		}
	}
	if _, err := ParseCondition(in(100), scope(t)); err != nil {
		t.Errorf("100 operands of IN: %v", err)
	}
}

func TestUpdateChangesExactlyWhatItNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, update, after string }{
		{`{"a":{"S":"x"}}`, "SET a = :he", `{"a":{"S":"he"}}`},
		{`{}`, "set a = :he, b = :one remove c add n :one", `{"a":{"S":"he"},"b":{"N":"1"},"n":{"N":"1"}}`},
		{`{"n":{"N":"5"}}`, "SET n = n + :one, o = n", `{"n":{"N":"6"},"o":{"N":"5"}}`}, // the right sides see the old item
		{`{"a":{"N":"1"},"b":{"N":"2"}}`, "SET a = b, b = a", `{"a":{"N":"2"},"b":{"N":"1"}}`},
		{`{"n":{"N":"5"}}`, "SET n = :one - n", `{"n":{"N":"-4"}}`},
		{`{"n":{"N":"5"}}`, "SET n = if_not_exists(n, :one) + :one, o = if_not_exists(o, :one) + :one", `{"n":{"N":"6"},"o":{"N":"2"}}`},
		{`{"n":{"N":"5"}}`, "SET o = (n + :one)", `{"n":{"N":"5"},"o":{"N":"6"}}`},
		{`{"l":{"L":[{"N":"1"}]}}`, "SET l = list_append(l, :l)", `{"l":{"L":[{"N":"1"},{"S":"new"}]}}`},
		{`{"l":{"L":[{"N":"1"}]}}`, "SET l = list_append(:l, if_not_exists(l, :l))", `{"l":{"L":[{"S":"new"},{"N":"1"}]}}`},
		{`{"l":{"L":[{"N":"1"},{"N":"2"},{"N":"3"}]}}`, "SET l[1] = :he", `{"l":{"L":[{"N":"1"},{"S":"he"},{"N":"3"}]}}`},
		{`{"l":{"L":[{"N":"1"}]}}`, "SET l[9] = :he, l[5] = :one", `{"l":{"L":[{"N":"1"},{"N":"1"},{"S":"he"}]}}`},
		{`{"l":{"L":[{"N":"1"},{"N":"2"},{"N":"3"}]}}`, "REMOVE l[0], l[2]", `{"l":{"L":[{"N":"2"}]}}`},
		{`{"l":{"L":[{"N":"1"},{"N":"2"}]}}`, "REMOVE l[0], l[7] SET l[1] = :he", `{"l":{"L":[{"S":"he"}]}}`},
		{`{"d":{"M":{"x":{"N":"1"}}}}`, "SET d.y = :he REMOVE d.x", `{"d":{"M":{"y":{"S":"he"}}}}`},
		{`{"d":{"M":{"l":{"L":[{"M":{"k":{"N":"1"}}}]}}}}`, "SET d.l[0].k = :he", `{"d":{"M":{"l":{"L":[{"M":{"k":{"S":"he"}}}]}}}}`},
		{`{"a":{"S":"x"}}`, "REMOVE b", `{"a":{"S":"x"}}`},
		{`{"d":{"M":{}}}`, "REMOVE d.x", `{"d":{"M":{}}}`},
		{`{"n":{"N":"0.1"}}`, "ADD n :one", `{"n":{"N":"1.1"}}`},
		{`{"s":{"SS":["a"]}}`, "ADD s :s, u :s", `{"s":{"SS":["a","b"]},"u":{"SS":["a","b"]}}`},
		{`{"d":{"M":{"n":{"N":"1"}}}}`, "ADD d.n :one", `{"d":{"M":{"n":{"N":"2"}}}}`},
		{`{"s":{"SS":["a","b","c"]}}`, "DELETE s :s", `{"s":{"SS":["c"]}}`},
		{`{"s":{"SS":["a"]},"k":{"N":"1"}}`, "DELETE s :s", `{"k":{"N":"1"}}`},
		{`{"k":{"N":"1"}}`, "DELETE s :s", `{"k":{"N":"1"}}`},
		{`{}`, "SET #dot = :he", `{"a.b":{"S":"he"}}`},
	} {
		s := scope(t)
		s.Values[":l"], s.Values[":s"] = item(t, `{"x":{"L":[{"S":"new"}]}}`)["x"], item(t, `{"x":{"SS":["b","a"]}}`)["x"]
		before := item(t, c.before)
		u, err := ParseUpdate(c.update, s)
		if err != nil {
			t.Errorf("%s: %v", c.update, err)
			continue
		}
		after, err := u.Apply(before)
		if err != nil || !attr.Equal(after, item(t, c.after)) {
			t.Errorf("%s: %v, %v, want %s", c.update, after, err, c.after)
		}
		if !attr.Equal(before, item(t, c.before)) {
			t.Errorf("%s changed the old item to %v", c.update, before)
		}
	}
}

func TestUpdateIsRefusedBeforeItIsTried(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"": "can not be empty", "a = :he": "Syntax error", "SET": "Syntax error", "SET a": "Syntax error", "SET a =": "Syntax error", "SET a = :he,": "Syntax error", "SET a = :he b = :he": "Syntax error", "SET :he = a": "Syntax error",
		"SET a = :he SET b = :he": `The "SET" section can only be used once`, "PUT a :he": "Syntax error", "SET a = b = c": "Syntax error", "SET a = :one + :one + :one": "Syntax error", "SET a = :one * :one": `token: "*"`,
		"SET a = :he, a = :he": "path one: [a], path two: [a]", "SET a = :he, a.b = :he": "overlap with each other", "SET a.b = :he REMOVE a": "overlap", "SET a[0] = :he, a.b = :he": "conflict with each other", "SET a[0].b = :he, a[0] = :he": "overlap",
		"SET a = b + :he": "operator or function: +, operand type: S", "SET a = list_append(b, :he)": "list_append, operand type: S", "SET a = if_not_exists(:he, :he)": "requires a document path", "SET a = if_not_exists(b)": "number of operands: 1", "SET a = size(b)": "not allowed to be used this way", "SET a = contains(b, :he)": "not allowed to be used this way",
		"ADD a b": "Syntax error", "ADD a :he": "operator: ADD, operand type: S", "ADD a": "Syntax error", "DELETE a :one": "operator: DELETE, operand type: N", "REMOVE a b": "Syntax error", "REMOVE": "Syntax error", "SET status = :he": "reserved keyword", "SET a = #nope": "not defined", "REMOVE a.": "Syntax error",
	} {
		if _, err := ParseUpdate(src, scope(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", src, err, want)
		}
	}
}

func TestUpdateThatConflictsWithTheItemIsRefused(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]error{
		"SET x = nope": errNoAttribute, "SET x = nope + :one": errNoAttribute, "SET x = list_append(nope, l)": errNoAttribute, "SET x = a + :one": errOperand, "SET x = list_append(l, a)": errOperand, "ADD a :one": errOperand, "ADD n :ss": errOperand, "ADD ns :ss": errOperand,
		"DELETE a :ss": errOperand, "DELETE ns :ss": errOperand, "SET nope.x = :one": errBadPath, "SET a.x = :one": errBadPath, "SET a[0] = :one": errBadPath, "SET l.x = :one": errBadPath, "SET d[0] = :one": errBadPath, "SET l[7].x = :one": errBadPath, "REMOVE nope.x": errBadPath,
	} {
		u, err := ParseUpdate(src, scope(t))
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if after, err := u.Apply(item(t, thing)); err != want {
			t.Errorf("%s: %v, %v, want %v", src, after, err, want)
		}
	}
	u, err := ParseUpdate("ADD n :big", &Scope{Values: item(t, `{":big":{"N":"1e40"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if after, err := u.Apply(item(t, thing)); err == nil {
		t.Errorf("41 digits were kept: %v", after)
	}
}

func TestProjectionPicksExactlyItsPaths(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"a": `{"a":{"S":"hello"}}`, "a, n, nope": `{"a":{"S":"hello"},"n":{"N":"5"}}`, "d.x": `{"d":{"M":{"x":{"S":"in"}}}}`, "d.y.w, d.x": `{"d":{"M":{"x":{"S":"in"},"y":{"M":{"w":{"N":"7"}}}}}}`, "d.nope": `{}`, "a.x": `{}`,
		"l[2].x, l[0]": `{"l":{"L":[{"N":"1"},{"M":{"x":{"S":"deep"}}}]}}`, "l[9]": `{}`, "#dot": `{}`, "#a": `{"a":{"S":"hello"}}`, "l.x": `{}`, "d[0]": `{}`,
	} {
		p, err := ParseProjection(src, scope(t))
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got := p.Apply(item(t, thing)); !attr.Equal(got, item(t, want)) {
			t.Errorf("%s: %v, want %s", src, got, want)
		}
	}
	for src, want := range map[string]string{"": "empty", "a,": "Syntax error", "a b": "Syntax error", "a, a": "overlap", "a, a.b": "overlap", "a[0], a.b": "conflict", ":he": "Syntax error", "status": "reserved"} {
		if _, err := ParseProjection(src, scope(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", src, err, want)
		}
	}
}

func keyCondition(src string, scope *Scope, hash, sort string) (KeyCondition, error) {
	c, err := ParseCondition(src, scope)
	if err != nil {
		return KeyCondition{}, err
	}
	return c.KeyCondition(hash, sort)
}

func TestKeyConditionSelectsExactlyItsKeys(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"pk = :he": "{he  <nil> <nil>}", ":he = pk": "{he  <nil> <nil>}", "pk = :he AND sk = :one": "{he = 1 <nil>}", "sk > :one AND pk = :he": "{he > 1 <nil>}", "(pk = :he) AND (:one > sk)": "{he < 1 <nil>}",
		"pk = :he AND sk BETWEEN :one AND :six": "{he BETWEEN 1 6}", "pk = :he AND begins_with(sk, :he)": "{he begins_with he <nil>}", "pk = :he AND sk <= :one": "{he <= 1 <nil>}",
	} {
		k, err := keyCondition(src, scope(t), "pk", "sk")
		if got := fmt.Sprint(k); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", src, got, err, want)
		}
	}
	for src, want := range map[string]string{
		"sk = :he": "missed key schema element: pk", "pk = :he AND a = :one": "missed key schema element: sk", "pk > :he": "key condition not supported", "pk = :he OR sk = :one": "Invalid operator used in KeyConditionExpression: OR", "NOT pk = :he": "NOT", "pk <> :he": "<>", "pk IN (:he)": "IN",
		"pk = :he AND pk = :he": "only contain one condition per key", "pk = :he AND contains(sk, :he)": "contains", "pk = :he AND size(sk) = :one": "size", "pk = sk": "not supported", "pk.x = :he": "nested", "begins_with(pk, :he)": "not supported", "pk = :he AND attribute_exists(sk)": "attribute_exists", "pk = :nope": "not defined", "": "empty",
		"pk = :he AND sk > :one AND sk < :six": "only contain one",
	} {
		if k, err := keyCondition(src, scope(t), "pk", "sk"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", src, k, err, want)
		}
	}
	if _, err := keyCondition("pk = :he AND sk = :one", scope(t), "pk", ""); err != errKeyCondition {
		t.Error("a table without sort key takes a condition on one")
	}
}

func TestUnusedPlaceholderIsRefused(t *testing.T) {
	t.Parallel()
	s := &Scope{Names: map[string]string{"#a": "a", "#b": "b"}, Values: item(t, `{":x":{"S":"x"},":y":{"S":"y"}}`)}
	if _, err := ParseCondition("#a = :x", s); err != nil {
		t.Fatal(err)
	}
	if err := s.Unused(); err == nil || !strings.HasSuffix(err.Error(), "ExpressionAttributeNames unused in expressions: keys: {#b}") {
		t.Errorf("%v", err)
	}
	if _, err := ParseProjection("#b", s); err != nil {
		t.Fatal(err)
	}
	if err := s.Unused(); err == nil || !strings.HasSuffix(err.Error(), "ExpressionAttributeValues unused in expressions: keys: {:y}") {
		t.Errorf("%v", err)
	}
}

func TestReservedWordsAreComplete(t *testing.T) {
	t.Parallel()
	if len(reserved) != 573 {
		t.Errorf("%d reserved words, want 573", len(reserved))
	}
	for _, w := range []string{"status", "Name", "TTL", "zone", "ABORT"} {
		if !Reserved(w) {
			t.Errorf("%s is not reserved", w)
		}
	}
	for _, w := range []string{"pk", "lane", "lane_at", "payload", ""} {
		if Reserved(w) {
			t.Errorf("%q is reserved", w)
		}
	}
}

func FuzzExpressionDoesNotPanic(f *testing.F) {
	for _, seed := range []string{
		"#a = :hello AND (NOT attribute_exists(d.y.w) OR l[2].x IN (:p, :one))", "SET a = list_append(if_not_exists(l, :list), :list), n = n + :one REMOVE l[0], d.x ADD ns :one DELETE ss :ss",
		"a BETWEEN :four AND :six", "begins_with(a, :he)", "a, d.x, l[1]", "size(a) > :one", "((a) = :he)", "a = ", "l[99999999]", "contains(a,:he) AND attribute_type(d,:M)", "\xff", "a<>:he",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		it := item(t, thing)
		if c, err := ParseCondition(src, scope(t)); err == nil {
			c.Matches(it)
			c.Matches(nil)
		}
		if u, err := ParseUpdate(src, scope(t)); err == nil {
			if after, err := u.Apply(it); err == nil {
				Project(u.Paths(true)).Apply(after)
			}
		}
		if p, err := ParseProjection(src, scope(t)); err == nil {
			p.Apply(it)
		}
		if k, err := keyCondition(src, scope(t), "a", "n"); err == nil && k.Hash == nil {
			t.Errorf("%q has no hash key", src)
		}
		if !attr.Equal(it, item(t, thing)) {
			t.Errorf("%q changed the item", src)
		}
	})
}
