package bench

import (
	"fmt"
	"html"
	"maps"
	"math"
	"slices"
	"strings"
)

// A plot is an SVG that can be read without colours: series differ by hatching, dashes and marks.

// The drawing area, in pixels.
const (
	width, height = 860, 360
	left, right   = 60, 300 // of the axes; the legend is at the right
	top, bottom   = 40, 50
	plotWidth     = width - left - right
	plotHeight    = height - top - bottom
)

// hatches are the fills of stacked bars, dashes and marks those of lines.
var (
	hatches = []string{"M0 8L8 0", "M0 0L8 8", "M0 4H8", "M4 0V8", "M0 4H8M4 0V8", "M0 0L8 8M0 8L8 0", "M2 2h1v1h-1z", ""}
	dashes  = []string{"", "6 4", "2 3"}
)

// series are values of one kind: of bars one for each bar, of lines one for each place.
type series struct {
	name   string
	x, y   []float64
	marked bool
}

// canvas is a plot that is being drawn.
type canvas struct{ strings.Builder }

func newCanvas(title, about string) *canvas {
	c := &canvas{}
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="12" fill="#111">`+"\n", width, height)
	fmt.Fprintf(c, "<title>%s</title><desc>%s</desc>\n", html.EscapeString(title), html.EscapeString(about))
	fmt.Fprintf(c, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	c.text(left, 20, "start", title, ` font-size="14" font-weight="bold"`)
	return c
}

func (c *canvas) text(x, y float64, anchor, text, more string) {
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, more, html.EscapeString(text))
}

func (c *canvas) path(d, more string) {
	fmt.Fprintf(c, `<path d="%s" fill="none" stroke="#111"%s/>`+"\n", d, more)
}

// yAxis draws a scale from 0 to at least most, and returns what it ends at.
func (c *canvas) yAxis(most float64, name string) float64 {
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for most/step < 4 {
		step /= 2
	}
	end := math.Ceil(most/step) * step
	for v := 0.0; v <= end+step/2; v += step {
		y := top + plotHeight*(1-v/end)
		c.path(fmt.Sprintf("M%d %.1fH%d", left, y, left+plotWidth), ` stroke-opacity="0.15"`)
		c.text(left-6, y+4, "end", fmt.Sprintf("%.3g", v), "")
	}
	c.text(left, top-6, "start", name, ` font-style="italic"`)
	return end
}

func (c *canvas) xAxis(name string) {
	c.path(fmt.Sprintf("M%d %dH%d", left, top+plotHeight, left+plotWidth), "")
	c.text(left+plotWidth/2, height-10, "middle", name, ` font-style="italic"`)
}

func (c *canvas) end() string { return c.String() + "</svg>\n" }

// bars draws stacked bars, one for each label.
func bars(title, about, xName, yName string, labels []string, stack []series) string {
	c := newCanvas(title, about)
	most := 0.0
	for i := range labels {
		sum := 0.0
		for _, s := range stack {
			sum += s.y[i]
		}
		most = max(most, sum)
	}
	end := c.yAxis(most, yName)
	c.xAxis(xName)
	for i := range stack {
		fmt.Fprintf(c, `<pattern id="hatch%d" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" fill="#fff"/><path d="%s" stroke="#111" fill="none"/></pattern>`+"\n",
			i, hatches[i%len(hatches)])
	}
	pitch := float64(plotWidth) / float64(len(labels))
	for i, label := range labels {
		x, base, sum := left+pitch*(float64(i)+0.2), 0.0, 0.0
		for k, s := range stack {
			h := plotHeight * s.y[i] / end
			fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="url(#hatch%d)" stroke="#111"/>`+"\n",
				x, top+plotHeight-base-h, pitch*0.6, h, k)
			base, sum = base+h, sum+s.y[i]
		}
		c.text(x+pitch*0.3, top+plotHeight-base-5, "middle", fmt.Sprintf("%.3g", sum), "")
		c.text(x+pitch*0.3, top+plotHeight+16, "middle", label, "")
	}
	for k, s := range stack {
		y := float64(top + 20*(len(stack)-1-k))
		fmt.Fprintf(c, `<rect x="%d" y="%.1f" width="14" height="14" fill="url(#hatch%d)" stroke="#111"/>`+"\n", width-right+14, y, k)
		c.text(width-right+34, y+11, "start", s.name, "")
	}
	return c.end()
}

// curves draws lines; x is on a logarithmic scale from first to last, with ticks.
func curves(title, about, xName, yName string, first, last float64, ticks map[float64]string, lines []series) string {
	c := newCanvas(title, about)
	most := 0.0
	for _, s := range lines {
		for _, y := range s.y {
			most = max(most, y)
		}
	}
	end := c.yAxis(max(most, 1e-9), yName)
	c.xAxis(xName)
	at := func(x float64) float64 {
		return left + plotWidth*math.Log(max(x, first)/first)/math.Log(last/first)
	}
	for _, x := range slices.Sorted(maps.Keys(ticks)) {
		c.path(fmt.Sprintf("M%.1f %dv5", at(x), top+plotHeight), "")
		c.text(at(x), top+plotHeight+18, "middle", ticks[x], "")
	}
	for k, s := range lines {
		var d strings.Builder
		for i := range s.x {
			x, y := at(s.x[i]), top+plotHeight*(1-s.y[i]/end)
			fmt.Fprintf(&d, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[i == 0], x, y)
			if s.marked {
				fmt.Fprintf(c, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", x, y+4, []string{"●", "□", "×"}[k%3])
			}
		}
		style := fmt.Sprintf(` stroke-width="2" stroke-dasharray="%s"`, dashes[k%len(dashes)])
		c.path(d.String(), style)
		y := float64(top + 10 + 20*k)
		c.path(fmt.Sprintf("M%d %.1fh30", width-right+8, y), style)
		if s.marked {
			c.text(width-right+23, y+4, "middle", []string{"●", "□", "×"}[k%3], "")
		}
		c.text(width-right+44, y+4, "start", s.name, "")
	}
	return c.end()
}
