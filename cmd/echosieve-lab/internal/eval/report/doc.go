// Package report writes the results of package figures as HTML pages for people. A page is one file that loads nothing
// from anywhere: styles and charts (bars of HTML, lines drawn as SVG by gonum/plot) are in it, there is no script, and a
// content security policy in the page forbids the browser what a mistake of ours might ask for. Titles and texts of
// articles are hostile input: they reach a page only through html/template, and a drawn chart only as escaped text.
package report
