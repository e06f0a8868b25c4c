// Check rules and queries with the parser of Prometheus, and evaluate queries with its engine.
//
// The program reads a JSON object from its standard input: `rules` (a file of rules), `queries`, and
// `evaluations`. It writes a JSON object with the faults of the rules and queries, the selectors of
// each query, and the result of each evaluation.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

type input struct {
	Rules       string
	Queries     []string
	Evaluations []evaluation
}

// An evaluation of a query at the time of the last sample. Samples are one minute apart.
type evaluation struct {
	Query  string
	Series []series
}

type series struct {
	Labels map[string]string
	Values []float64
}

type output struct {
	Faults    []string              `json:"faults"`
	Selectors [][]selector          `json:"selectors"`
	Results   [][]map[string]string `json:"results"`
}

// The name of a metric, and the labels on which the query relies.
type selector struct {
	Metric string   `json:"metric"`
	Labels []string `json:"labels"`
}

func main() {
	var in input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fail(err)
	}
	out := output{Faults: []string{}, Selectors: [][]selector{}, Results: [][]map[string]string{}}
	queries := parser.NewParser(parser.Options{})
	_, faults := rulefmt.Parse([]byte(in.Rules), false, model.LegacyValidation, queries, slog.Default())
	for _, fault := range faults {
		out.Faults = append(out.Faults, fault.Error())
	}
	for _, query := range in.Queries {
		expression, err := queries.ParseExpr(query)
		if err != nil {
			out.Faults = append(out.Faults, query+": "+err.Error())
			continue
		}
		out.Selectors = append(out.Selectors, selectors(expression))
	}
	for _, each := range in.Evaluations {
		out.Results = append(out.Results, evaluate(each, queries))
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		fail(err)
	}
}

// Return the selectors of a query. A selector inside an aggregation relies on the labels by which
// the aggregation groups.
func selectors(expression parser.Expr) []selector {
	found := []selector{}
	parser.Inspect(expression, func(node parser.Node, path []parser.Node) error {
		vector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		names := map[string]bool{}
		for _, matcher := range vector.LabelMatchers {
			if matcher.Name != labels.MetricName {
				names[matcher.Name] = true
			}
		}
		for _, above := range path {
			if aggregation, ok := above.(*parser.AggregateExpr); ok && !aggregation.Without {
				for _, name := range aggregation.Grouping {
					names[name] = true
				}
			}
		}
		found = append(found, selector{vector.Name, slices.Sorted(maps.Keys(names))})
		return nil
	})
	return found
}

// Return the labels of each series in the result.
func evaluate(each evaluation, queries parser.Parser) []map[string]string {
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1_000_000, Timeout: time.Minute, Parser: queries,
	})
	last := 0
	for _, one := range each.Series {
		last = max(last, len(one.Values)-1)
	}
	at := time.Unix(int64(last)*60, 0)
	query, err := engine.NewInstantQuery(context.Background(), memory(each.Series), nil, each.Query, at)
	if err != nil {
		fail(err)
	}
	vector, err := query.Exec(context.Background()).Vector()
	if err != nil {
		fail(err)
	}
	found := []map[string]string{}
	for _, sample := range vector {
		found = append(found, sample.Metric.Map())
	}
	return found
}

// A storage of samples in memory.
type memory []series

func (all memory) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: all.find}, nil
}

func (all memory) find(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := []storage.Series{}
	for _, one := range all {
		set := labels.FromMap(one.Labels)
		if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(set.Get(m.Name)) }) {
			continue
		}
		samples := []chunks.Sample{}
		for minute, value := range one.Values {
			samples = append(samples, sample{int64(minute) * 60_000, value})
		}
		found = append(found, storage.NewListSeries(set, samples))
	}
	slices.SortFunc(found, func(a, b storage.Series) int {
		return cmp.Compare(a.Labels().String(), b.Labels().String())
	})
	return &list{found: found, at: -1}
}

type list struct {
	found []storage.Series
	at    int
}

func (l *list) Next() bool                        { l.at++; return l.at < len(l.found) }
func (l *list) At() storage.Series                { return l.found[l.at] }
func (l *list) Err() error                        { return nil }
func (l *list) Warnings() annotations.Annotations { return nil }

type sample struct {
	milliseconds int64
	value        float64
}

func (s sample) T() int64                      { return s.milliseconds }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

func fail(err error) {
	slog.Error(err.Error())
	os.Exit(1)
}
