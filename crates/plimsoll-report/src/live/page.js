// The live page: listens to one stream and redraws once per line. No request but that stream.
(function () {
  'use strict';
  var head = null, seconds = [], levels = [], level = null, over = null, lost = false, due = false;
  var MOST = 600;
  var page = document.getElementById('page');

  function text(value) {
    return String(value).replace(/[&<>"]/g, function (c) {
      return { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }[c];
    });
  }

  function number(value, digits) {
    if (value === null || value === undefined || !isFinite(value)) return '–';
    var size = Math.abs(value);
    var places = digits !== undefined ? digits : size >= 100 ? 0 : size >= 10 ? 1 : 2;
    var parts = value.toFixed(places).split('.');
    parts[0] = parts[0].replace(/\B(?=(\d{3})+$)/g, '\u202f');
    return parts.join('.');
  }

  function time(ms) {
    if (ms === null || ms === undefined) return '–';
    return ms >= 1000 ? number(ms / 1000) + ' s' : ms >= 1 ? number(ms) + ' ms' : number(ms * 1000, 0) + ' µs';
  }

  function clock(seconds) {
    var s = Math.max(0, Math.round(seconds)), minutes = Math.floor(s / 60);
    var two = function (n) { return (n < 10 ? '0' : '') + n; };
    return minutes >= 60 ? Math.floor(minutes / 60) + ':' + two(minutes % 60) + ':' + two(s % 60)
      : minutes + ':' + two(s % 60);
  }

  // Ticks at 1, 2 or 5 times a power of ten, four to eight of them.
  function ticks(most) {
    var step = Math.pow(10, Math.floor(Math.log10(most || 1)));
    while (most / step < 4) step /= step / Math.pow(10, Math.floor(Math.log10(step) + 1e-9)) === 5 ? 2.5 : 2;
    var list = [];
    for (var value = 0; value <= most * 1.0001; value += step) list.push(value);
    return list;
  }

  // As wide as the page, so that text keeps its size on a phone.
  var WIDTH = 1128, LEFT = 62, RIGHT = 12, TOP = 8, BOTTOM = 22;

  function frame(height, most, label, tickList) {
    var first = seconds[0].at - seconds[0].length, last = seconds[seconds.length - 1].at;
    var span = Math.max(last - first, 10);
    var marks = tickList || ticks(most);
    // As wide as its widest figure, so that none begins outside of the page.
    LEFT = marks.reduce(function (widest, value) { return Math.max(widest, 14 + 7.4 * label(value).length); }, 62);
    var chart = {
      x: function (at) { return LEFT + (at - first) / span * (WIDTH - LEFT - RIGHT); },
      y: function (value) { return height - BOTTOM - Math.min(1.05, value / (most || 1)) * (height - TOP - BOTTOM); },
      svg: ''
    };
    marks.forEach(function (value) {
      var y = chart.y(value).toFixed(1);
      chart.svg += '<path class="grid" d="M' + LEFT + ' ' + y + 'H' + (WIDTH - RIGHT) + '"/>' +
        '<text class="e" x="' + (LEFT - 8) + '" y="' + (+y + 4) + '">' + text(label(value)) + '</text>';
    });
    var every = [5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600].filter(function (n) { return span / n <= WIDTH / 110; })[0] || 7200;
    for (var at = Math.ceil(first / every) * every; at <= last; at += every) {
      chart.svg += '<text class="c" x="' + chart.x(at).toFixed(1) + '" y="' + (height - 4) + '">' + clock(at) + '</text>';
    }
    levels.forEach(function (begun) {
      if (begun.at > first && begun.at < last) {
        chart.svg += '<path class="mark" d="M' + chart.x(begun.at).toFixed(1) + ' ' + TOP + 'V' + (height - BOTTOM) + '"/>';
      }
    });
    return chart;
  }

  function done(chart, height, label) {
    return '<svg viewBox="0 0 ' + WIDTH + ' ' + height + '" role="img" aria-label="' + text(label) + '">' + chart.svg + '</svg>';
  }

  function path(chart, pick) {
    var d = '', pen = 'M';
    seconds.forEach(function (second) {
      var value = pick(second);
      if (value === null || value === undefined) { pen = 'M'; return; }
      d += pen + chart.x(second.at - second.length / 2).toFixed(1) + ' ' + chart.y(value).toFixed(1);
      pen = 'L';
    });
    return d;
  }

  function curve(chart, style, colour, pick) {
    chart.svg += '<path class="' + style + '" style="stroke:var(--' + colour + ')" d="' + path(chart, pick) + '"/>';
  }

  function most(pick) {
    return seconds.reduce(function (high, second) { return Math.max(high, pick(second) || 0); }, 0);
  }

  function sum(list) { return list.reduce(function (a, b) { return a + b; }, 0); }

  // Every class stacked; what was due as a line above: the space between is what never came back.
  function outcomes() {
    var height = 230, used = head.lanes.map(function (_, lane) { return seconds.some(function (s) { return s.lanes[lane] > 0; }); });
    var chart = frame(height, most(function (s) { return Math.max(s.due, sum(s.lanes)); }) || 1, function (v) { return number(v, v < 10 && v % 1 ? 1 : 0) + '/s'; });
    seconds.forEach(function (second) {
      var x = chart.x(second.at - second.length), width = Math.max(0.8, chart.x(second.at) - x - 0.4), base = 0;
      second.lanes.forEach(function (value, lane) {
        if (!value) return;
        var top = chart.y(base + value), bottom = chart.y(base);
        chart.svg += '<rect x="' + x.toFixed(1) + '" y="' + top.toFixed(1) + '" width="' + width.toFixed(1) + '" height="' +
          Math.max(0.6, bottom - top).toFixed(1) + '" style="fill:var(--' + head.lanes[lane].colour + ')"/>';
        base += value;
      });
    });
    curve(chart, 'thin', 'ink', function (s) { return s.due; });
    var key = head.lanes.filter(function (_, lane) { return used[lane] || lane === 0; }).map(function (lane) {
      return '<li><i class="box" style="background:var(--' + lane.colour + ')"></i>' + text(lane.name) + '</li>';
    }).join('') + '<li><i style="border-color:var(--ink)"></i>due</li>';
    return '<h2>Outcomes per second</h2>' + done(chart, height, 'Outcomes per second') + '<ul class="key">' + key + '</ul>';
  }

  function response() {
    var height = 210, high = most(function (s) { return Math.max(s.response[2] || 0, s.service[2] || 0); }) || 1;
    var chart = frame(height, high, time);
    curve(chart, 'line', 'ink', function (s) { return s.response[2]; });
    curve(chart, 'thin', 'ink2', function (s) { return s.response[0]; });
    curve(chart, 'thin dash', 'good', function (s) { return s.service[2]; });
    return '<h2>Response time<span>from the intended start; service time from the moment it was sent</span></h2>' +
      done(chart, height, 'Response time') +
      '<ul class="key"><li><i style="border-color:var(--ink)"></i>response p99</li><li><i style="border-color:var(--ink2)"></i>response p50</li>' +
      '<li><i class="dash" style="border-color:var(--good)"></i>service p99</li></ul>';
  }

  function inFlight() {
    var height = 130, vus = seconds.some(function (s) { return s.vus !== null; });
    var high = most(function (s) { return Math.max(s.in_flight, s.vus || 0); }) || 1;
    var chart = frame(height, high, function (v) { return number(v, v < 10 && v % 1 ? 1 : 0); }, [0, high / 2, high]);
    curve(chart, 'line', 'good', function (s) { return s.in_flight; });
    if (vus) curve(chart, 'thin', 'ink', function (s) { return s.vus; });
    return '<h2>In flight' + (vus ? ' and virtual users' : '') + '</h2>' + done(chart, height, 'In flight') +
      '<ul class="key"><li><i style="border-color:var(--good)"></i>in flight, mean of the second</li>' +
      (vus ? '<li><i style="border-color:var(--ink)"></i>virtual users at work</li>' : '') + '</ul>';
  }

  function tile(name, value, small) {
    return '<div><dt>' + name + '</dt><dd>' + value + '</dd><small>' + (small || '&nbsp;') + '</small></div>';
  }

  function tiles(now) {
    var ended = sum(now.lanes), good = now.lanes[0], failed = ended > 0 ? 1 - (good + now.lanes[1]) / ended : null;
    var health = { clean: 'pass', unknown: 'off', generator_bound: 'warn', breached: 'fail' }[now.condition] || 'warn';
    return '<dl class="tiles">' +
      tile('goodput', number(good) + '<i>/s</i>', 'of ' + number(now.due) + '/s due') +
      tile('throughput', number(ended) + '<i>/s</i>', 'whatever the answer') +
      tile('response p99', time(now.response[2]), 'p50 ' + time(now.response[0])) +
      tile('failed', failed === null ? '–' : number(failed * 100, failed > 0 && failed < 0.1 ? 2 : 1) + '<i> %</i>', 'of what ended') +
      tile('in flight', number(now.in_flight), now.vus === null ? now.connections + ' connections' : now.vus + ' of ' + now.vus_existing + ' VUs') +
      tile('generator', '<span class="' + health + '">' + text(now.condition_words) + '</span>',
        now.why ? text(now.why) : 'lag p99 ' + time(now.lag) + (now.busy === null ? '' : ', ' + number(now.busy * 100, 0) + ' % busy')) +
      '</dl>';
  }

  function lists(now) {
    var thresholds = now.thresholds.map(function (t) {
      return '<tr><td>' + text(t.text) + '</td><td class="' + (t.ok ? 'pass">✓ holds' : 'fail">✗ broken') + '</td></tr>';
    }).join('');
    var tiers = now.tiers.map(function (t) {
      return '<tr><td>' + text(t.name) + '</td><td>' + number(t.cores) + ' cores busy</td></tr>';
    }).join('');
    if (!thresholds && !tiers) return '';
    return '<div class="two">' + (thresholds ? '<div><h2>Thresholds</h2><table>' + thresholds + '</table></div>' : '') +
      (tiers ? '<div><h2>Tiers</h2><table>' + tiers + '</table></div>' : '') + '</div>';
  }

  function draw() {
    due = false;
    if (!head) return;
    WIDTH = Math.max(320, Math.min(1128, page.clientWidth - 32));
    var now = seconds[seconds.length - 1];
    var at = now ? now.at : 0, left = now && now.left !== null ? now.left : level && level.left;
    var state = over ? '<p class="state' + (over.well ? ' well' : '') + '">' + text(over.headline) + (over.report ? ' Report: ' + text(over.report) : '') + '</p>'
      : lost ? '<p class="state">The run does not answer any more; what is shown is the last that was heard.</p>' : '';
    page.innerHTML = '<header><b>' + text(head.title || head.request) + '</b><span>plimsoll ' + text(head.command) + '</span>' +
      (head.request.slice(-head.title.length) === head.title ? '' : '<span>' + text(head.request) + '</span>') + (head.objective ? '<span>' + text(head.objective) + '</span>' : '') + '<span class="clock">' + clock(at) +
      (left !== null && left !== undefined && !over ? ' <small>' + clock(left) + ' left</small>' : '') + '</span></header>' +
      '<p class="level">' + text(level ? level.words : '') + '</p>' + state +
      (now ? tiles(now) + outcomes() + response() + inFlight() + lists(now) : '<p class="off">The first figures come after a second.</p>');
  }

  function soon() {
    if (!due) { due = true; requestAnimationFrame(draw); }
  }

  // Old seconds are joined two by two, so that a page left open for a day stays small.
  function thin() {
    var joined = [];
    for (var i = 0; i + 1 < seconds.length; i += 2) {
      var a = seconds[i], b = seconds[i + 1], length = a.length + b.length, mean = function (x, y) { return (x * a.length + y * b.length) / length; };
      var worse = function (x, y) { return x === null || y === null ? (x === null ? y : x) : Math.max(x, y); };
      var both = Object.assign({}, b, { length: length, due: mean(a.due, b.due), in_flight: mean(a.in_flight, b.in_flight) });
      both.lanes = a.lanes.map(function (n, lane) { return mean(n, b.lanes[lane]); });
      // Percentiles cannot be averaged: the worse of the two is shown.
      both.response = a.response.map(function (n, k) { return worse(n, b.response[k]); });
      both.service = a.service.map(function (n, k) { return worse(n, b.service[k]); });
      joined.push(both);
    }
    if (seconds.length % 2) joined.push(seconds[seconds.length - 1]);
    seconds = joined;
  }

  var stream = new EventSource('events');
  stream.onmessage = function (message) {
    var told = JSON.parse(message.data);
    lost = false;
    if (told.kind === 'head') { head = told; seconds = []; levels = []; level = null; document.title = (told.title || told.request) + ' – plimsoll'; }
    if (told.kind === 'level') { level = told; levels.push(told); }
    if (told.kind === 'second') { seconds.push(told); if (seconds.length > MOST) thin(); }
    if (told.kind === 'end') { over = told; stream.close(); }
    soon();
  };
  stream.onerror = function () { if (!over) { lost = true; soon(); } };
})();
