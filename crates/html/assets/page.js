'use strict';
// Makes the charts of the page zoomable. The SVG of a chart is its data: the attributes data-x, data-y and data-area say
// how places become values. Without this script the page shows the same charts as pictures.
(function () {
  const root = document.documentElement;
  const figures = (value, units, base) => {
    let at = 0;
    while (Math.abs(value) >= base - 0.5 && at + 1 < units.length) { value /= base; at += 1; }
    const size = Math.abs(value);
    const decimals = at === 0 && Number.isInteger(value) || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    return value.toFixed(decimals) + (units[at].length > 1 ? '\u202f' : '') + units[at];
  };
  const clock = (s) => {
    const size = Math.abs(s);
    if (size === 0) return '0\u202fs';
    const [value, unit] = size < 0.9995 ? [s * 1e3, 'ms'] : size < 120 ? [s, 's'] : size < 7200 ? [s / 60, 'min']
      : size < 172800 ? [s / 3600, 'h'] : [s / 86400, 'd'];
    return String(Number(value.toFixed(2))) + '\u202f' + unit;
  };
  const format = {
    latency: (v) => figures(v, ['ns', 'µs', 'ms', ' s'], 1000),
    byterate: (v) => figures(v, ['B/s', 'KiB/s', 'MiB/s', 'GiB/s', 'TiB/s'], 1024),
    size: (v) => figures(v, [' B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'], 1024),
    oprate: (v) => figures(v, ['', 'k', 'M', 'G', 'T'], 1000),
    count: (v) => figures(v, ['', 'k', 'M', 'G', 'T'], 1000),
    percent: (v) => Number(v.toPrecision(3)) + '\u202f%',
    clock,
  };
  const nines = (v) => 'p' + Number((100 - 100 * Math.pow(10, -v)).toFixed(Math.max(1, Math.ceil(v))));

  // Labels of axes have no zeros behind the point.
  const tick = (text) => text.replace(/^(-?\d+\.\d*?)0+(?=\D|$)/, '$1').replace(/\.(?=\D|$)/, '');

  // An axis from its attribute: turns a place from 0 to 1 into a value, and a value into text.
  const axis = (text) => {
    const [kind, low, high, unit] = text.split(',');
    const [from, to] = [Number(low), Number(high)];
    if (kind === 'nines') {
      const all = -Math.log10(1 - to / 100);
      return { kind, value: (p) => p * all, text: nines };
    }
    const value = kind === 'log'
      ? (p) => Math.pow(10, Math.log10(from) + p * (Math.log10(to) - Math.log10(from)))
      : (p) => from + p * (to - from);
    return { kind, unit, value, text: format[unit] };
  };

  const geometry = (svg) => {
    const [left, top, width, height] = svg.dataset.area.split(',').map(Number);
    const x = axis(svg.dataset.x);
    const y = axis(svg.dataset.y);
    return { left, top, width, height, x, y, atX: (v) => x.value((v - left) / width), atY: (v) => y.value(1 - (v - top) / height) };
  };

  // The points of a path; a new piece of the path is a gap.
  const points = (path, g) => {
    const xs = [];
    const ys = [];
    for (const [, letter, x, y] of path.getAttribute('d').matchAll(/([ML])(-?[\d.]+) (-?[\d.]+)/g)) {
      const value = g.atX(Number(x));
      if (letter === 'M' && xs.length) { xs.push((xs[xs.length - 1] + value) / 2); ys.push(null); }
      if (xs.length && value <= xs[xs.length - 1]) continue;
      xs.push(value);
      ys.push(g.atY(Number(y)));
    }
    return [xs, ys];
  };

  const style = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  // Draws the shaded times below the curves, each with its name if there is room for it.
  const shade = (svg, g) => (u) => {
    u.ctx.save();
    u.ctx.font = `${11 * devicePixelRatio}px sans-serif`;
    u.ctx.textAlign = 'left';
    u.ctx.textBaseline = 'top';
    const gap = 4 * devicePixelRatio;
    for (const rect of svg.querySelectorAll('[data-span]')) {
      const [from, to] = rect.dataset.span.split(',').map(Number);
      const left = Math.max(u.valToPos(from, 'x', true), u.bbox.left);
      const right = Math.min(u.valToPos(to, 'x', true), u.bbox.left + u.bbox.width);
      if (right <= left) continue;
      u.ctx.fillStyle = getComputedStyle(rect).fill;
      u.ctx.fillRect(left, u.bbox.top, right - left, u.bbox.height);
      const name = rect.nextElementSibling;
      if (name && name.matches('text.span') && u.ctx.measureText(name.textContent).width + 2 * gap < right - left) {
        u.ctx.fillStyle = style('--muted');
        u.ctx.fillText(name.textContent, left + gap, u.bbox.top + gap);
      }
    }
    u.ctx.restore();
  };

  const options = (svg, g, paths, width) => {
    const ink = { stroke: style('--muted'), grid: { stroke: style('--grid'), width: 1 }, ticks: { stroke: style('--grid'), width: 1 } };
    const log = g.y.kind === 'log';
    const curve = (path) => {
      const look = getComputedStyle(path);
      const dash = look.strokeDasharray === 'none' ? undefined : look.strokeDasharray.split(/[ ,]+/).map(parseFloat);
      return {
        label: path.dataset.name, stroke: look.stroke, width: 1.8, dash, points: { show: false },
        value: (u, v) => v == null ? '–' : g.y.text(v),
      };
    };
    const times = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600,
      7200, 10800, 21600, 43200, 86400, 172800, 432000, 864000];
    const bytes = [];
    for (let unit = 1; unit < 1e18; unit *= 1024) for (const n of [1, 2, 5, 10, 20, 50, 128, 256, 512]) bytes.push(n * unit);
    // Round numbers, as in the picture; the fewer, the longer the range.
    const decades = (u, at, min, max) => {
      const wide = Math.log10(max / min);
      const digits = wide <= 2.5 ? [1, 2, 5] : wide <= 4.5 ? [1, 3] : [1];
      const all = [];
      for (let e = Math.floor(Math.log10(min)); e <= Math.ceil(Math.log10(max)); e += 1) for (const n of digits) all.push(n * Math.pow(10, e));
      return all.filter((v) => v >= min && v <= max);
    };
    const steps = log ? { splits: decades, filter: (u, all) => all } : g.y.unit === 'byterate' ? { incrs: bytes } : {};
    const ticks = g.x.unit === 'clock' ? { incrs: times } : g.x.kind === 'nines' ? { splits: (u) => {
      const [from, to] = [u.scales.x.min, u.scales.x.max];
      // From the left, as many labels as there is room for.
      let end = -Infinity;
      return [0, Math.log10(2), 1, 2, 3, 4, 5, 6, 7, 8, 9].filter((v) => {
        const at = (v - from) / (to - from) * u.bbox.width / devicePixelRatio;
        const half = nines(v).length * 4;
        if (v < from || v > to || at - half < end) return false;
        end = at + half;
        return true;
      });
    } } : {};
    return {
      width, height: Math.max(220, Math.min(300, width * 0.4)),
      cursor: { drag: { x: true, y: false }, sync: g.x.unit === 'clock' ? { key: 'time' } : undefined },
      series: [{ label: g.x.kind === 'nines' ? 'percentile' : 'time', value: (u, v) => v == null ? '–' : g.x.text(v) }, ...paths.map(curve)],
      scales: {
        x: { time: false },
        y: log ? { distr: 3, range: (u, min, max) => [min / 1.25, max * 1.25] } : { range: (u, min, max) => [0, max * 1.06 || 1] },
      },
      axes: [
        { ...ink, values: (u, all) => all.map((v) => tick(g.x.text(v))), space: 70, ...ticks },
        { ...ink, values: (u, all) => all.map((v) => v == null ? '' : tick(g.y.text(v))), size: 74, ...steps },
      ],
      hooks: { drawClear: [shade(svg, g)] },
    };
  };

  // Arrow keys move the cursor, + and − zoom around it, 0 shows everything.
  const keys = (plot, data) => (event) => {
    const u = plot.chart;
    const xs = u.data[0];
    const zoom = (factor) => {
      const { min, max } = u.scales.x;
      const middle = u.cursor.idx == null ? (min + max) / 2 : xs[u.cursor.idx];
      const [first, last] = [xs[0], xs[xs.length - 1]];
      u.setScale('x', { min: Math.max(first, middle - (middle - min) * factor), max: Math.min(last, middle + (max - middle) * factor) });
    };
    const move = (step) => {
      const at = Math.max(0, Math.min(xs.length - 1, (u.cursor.idx == null ? -step : u.cursor.idx) + step));
      u.setCursor({ left: u.valToPos(xs[at], 'x'), top: u.over.clientHeight / 2 });
    };
    const far = Math.max(1, Math.round(xs.length / 20));
    const acts = {
      ArrowLeft: () => move(-1), ArrowRight: () => move(1), PageUp: () => move(-far), PageDown: () => move(far),
      '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2),
      0: () => u.setScale('x', { min: xs[0], max: xs[xs.length - 1] }),
    };
    if (acts[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      acts[event.key]();
    }
  };

  const plots = new Map();
  const draw = (svg) => {
    const paths = [...svg.querySelectorAll('path.line')].reverse();
    const g = geometry(svg);
    // Points with labels of their own (sweeps) stay as they are: their pictures say more.
    if (!paths.length || svg.querySelector('circle.dot')) return;
    let plot = plots.get(svg);
    if (plot) plot.chart.destroy();
    svg.classList.remove('replaced');
    const width = svg.parentElement.clientWidth;
    // The ends of the axis have no values; they keep the range as it is in the picture.
    const ends = [[g.x.value(0), g.x.value(1)], [null, null]];
    const all = uPlot.join([...paths.map((path) => points(path, g)), ends]);
    const data = all.slice(0, -1);
    if (!plot) {
      const box = document.createElement('div');
      box.className = 'plot';
      box.tabIndex = 0;
      box.setAttribute('role', 'group');
      box.setAttribute('aria-label', svg.getAttribute('aria-label') + '. Arrow keys read values, plus and minus zoom, 0 shows all.');
      svg.after(box);
      plot = { box };
      plots.set(svg, plot);
      box.addEventListener('keydown', keys(plot));
      box.addEventListener('focus', () => box.querySelector('.u-legend')?.setAttribute('aria-live', 'polite'));
    }
    plot.width = width;
    plot.chart = new uPlot(options(svg, g, paths, width), data, plot.box);
    svg.classList.add('replaced');
    const legend = plot.box.nextElementSibling;
    if (legend && legend.classList.contains('legend')) legend.classList.add('replaced');
  };

  // Shows time and latency under the pointer, for charts that stay pictures.
  const readout = (svg) => {
    const g = geometry(svg);
    let box = null;
    svg.addEventListener('pointermove', (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const inside = at.x >= g.left && at.x <= g.left + g.width && at.y >= g.top && at.y <= g.top + g.height;
      if (!inside) { if (box) { box.remove(); box = null; } return; }
      if (!box) { box = document.createElement('div'); box.className = 'readout'; document.body.append(box); }
      box.textContent = g.x.text(g.atX(at.x)) + ' · ' + g.y.text(g.atY(at.y));
      box.style.left = Math.min(event.clientX + 14, innerWidth - 150) + 'px';
      box.style.top = event.clientY + 14 + 'px';
    });
    svg.addEventListener('pointerleave', () => { if (box) { box.remove(); box = null; } });
  };

  const charts = [...document.querySelectorAll('svg.chart.lines')];
  // A chart is drawn when it comes near the window: a page may have many.
  const watcher = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) { watcher.unobserve(one.target); draw(one.target); }
  }, { rootMargin: '600px' });
  charts.forEach((svg) => watcher.observe(svg));
  document.querySelectorAll('svg.chart.heat').forEach(readout);

  let pending = 0;
  addEventListener('resize', () => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(() => {
      for (const [svg, plot] of plots) if (plot.box.clientWidth && plot.box.clientWidth !== plot.width) draw(svg);
    });
  });
  const again = () => { for (const svg of plots.keys()) draw(svg); };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
  const button = document.getElementById('theme');
  button.hidden = false;
  button.addEventListener('click', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    again();
  });
  addEventListener('beforeprint', () => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
})();
