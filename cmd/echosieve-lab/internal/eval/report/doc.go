// Package report writes the results of package figures as HTML pages for people. A page is one file that loads nothing
// from anywhere: styles and charts (bars of HTML, lines drawn as SVG by gonum/plot) are in it. There is no script. If a mistake of ours lets a
// page refer to something outside, the content security policy of the page forbids the browser to load it. Titles and texts of
// articles are hostile input: they reach a page only through html/template, and a drawn chart only as escaped text.
package report
