// Copyright (c) 2026 The nimops.nim authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// writer collects metrics.
type writer struct{ parts []string }

func (w *writer) text(text string) { w.parts = append(w.parts, text) }

func (w *writer) head(of family) { w.text(Head(of.name, of.kind, of.help)) }

// Head returns the lines above the samples of a metric.
func Head(name, kind, help string) string {
	return "# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n"
}

func (w *writer) gauge(name, help string, value int) {
	w.head(family{name, "gauge", help})
	w.text(name + " " + strconv.Itoa(value) + "\n")
}

// line returns a sample. The labels are texts that label returned, or several of them separated by commas.
func line(name string, value int64, labels ...string) string {
	return name + "{" + strings.Join(labels, ",") + "} " + strconv.FormatInt(value, 10) + "\n"
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// label returns a label; its value is shortened to maxText bytes.
func label(name, value string) string {
	if len(value) > maxText {
		cut := maxText
		for cut > 0 && !utf8.RuneStart(value[cut]) {
			cut--
		}
		value = value[:cut]
	}
	return name + `="` + escapes.Replace(strings.ToValidUTF8(value, "�")) + `"`
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}

// integer returns a quantity of devices: a number, or its text.
func integer(amount any) int64 {
	switch value := amount.(type) {
	case float64:
		return int64(value)
	case string:
		found, _ := strconv.ParseInt(value, 10, 64)
		return found
	}
	return 0
}

// bounds are the upper bounds of a histogram of durations, in seconds: from ten seconds to four hours.
var bounds = [...]float64{10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400}

type histogram struct {
	counts [len(bounds)]int64
	total  int64
	sum    float64
}

func (h *histogram) add(seconds float64) {
	for at, bound := range bounds {
		if seconds <= bound {
			h.counts[at]++
		}
	}
	h.total++
	h.sum += seconds
}

func (h *histogram) render(name, labels string) string {
	var text strings.Builder
	for at, bound := range bounds {
		text.WriteString(line(name+"_bucket", h.counts[at], labels, label("le", strconv.FormatFloat(bound, 'g', -1, 64))))
	}
	text.WriteString(line(name+"_bucket", h.total, labels, label("le", "+Inf")))
	text.WriteString(name + "_sum{" + labels + "} " + strconv.FormatFloat(h.sum, 'g', -1, 64) + "\n")
	text.WriteString(line(name+"_count", h.total, labels))
	return text.String()
}
