"use strict";
(function () {
  var text = document.getElementById("figures").textContent;
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  var camera = window.Plotly.Icons.camera;
  function save(format) {
    return {
      name: "Save as " + format.toUpperCase(),
      title: "Save as " + format.toUpperCase(),
      icon: camera,
      click: function (chart) {
        window.Plotly.downloadImage(chart, { format: format, scale: 2, filename: chart.id });
      }
    };
  }
  var config = {
    displaylogo: false,
    responsive: true,
    modeBarButtonsToRemove: ["toImage", "select2d", "lasso2d"],
    modeBarButtonsToAdd: [save("png"), save("svg")]
  };
  function draw(look) {
    // Read anew each time: Plotly writes into what it is given.
    var figures = JSON.parse(text);
    Object.keys(figures).forEach(function (id) {
      var chosen = figures[id][look];
      window.Plotly.react(id, chosen.data, chosen.layout, config);
    });
  }
  function follow() { draw(dark.matches ? "dark" : "light"); }
  follow();
  dark.addEventListener("change", follow);
  window.addEventListener("beforeprint", function () { draw("light"); });
  window.addEventListener("afterprint", follow);
})();
