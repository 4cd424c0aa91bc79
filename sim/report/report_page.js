/* report_page.js: interaction with the report: sorting and filtering of tables, values in pictures,
 * light and dark. Everything can be read without it. */
'use strict';

(function () {
    const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));
    const one = (selector) => document.querySelector(selector);

    /* --- a note near the pointer or the focus --- */

    const tip = one('#tip');
    function showTip(text, x, y) {
        tip.textContent = text;
        tip.hidden = false;
        const box = tip.getBoundingClientRect();
        const left = Math.min(x + 14, window.innerWidth - box.width - 8);
        const top = y + 18 + box.height > window.innerHeight ? y - box.height - 10 : y + 18;
        tip.style.left = Math.max(4, left) + 'px';
        tip.style.top = Math.max(4, top) + 'px';
    }
    function hideTip() {
        tip.hidden = true;
    }
    document.addEventListener('keydown', (event) => {
        if (event.key === 'Escape') hideTip();
    });

    /* --- light and dark --- */

    const theme = one('#theme');
    const themes = { auto: 'Theme: as the system', light: 'Theme: light', dark: 'Theme: dark' };
    function setTheme(name) {
        document.documentElement.dataset.theme = name;
        theme.textContent = themes[name];
        try {
            localStorage.setItem('timerlab-theme', name);
        } catch (refused) {
            /* A page from disk may not be allowed to remember. */
        }
    }
    let remembered = null;
    try {
        remembered = localStorage.getItem('timerlab-theme');
    } catch (refused) {
        /* As above. */
    }
    setTheme(remembered in themes ? remembered : 'auto');
    theme.hidden = false;
    theme.addEventListener('click', () => {
        const names = Object.keys(themes);
        const now = names.indexOf(document.documentElement.dataset.theme);
        setTheme(names[(now + 1) % names.length]);
    });

    /* --- the knobs of a sweep --- */

    /* The trace of a point is called WORKLOAD-KNOB=VALUE-KNOB=VALUE...: a slider for each knob chooses
     * among the answers, which are then all at the top. */
    const answers = all('.answer');
    const points = answers.map((answer) => new Map(Array.from(
        answer.dataset.trace.replace(/\.trace$/, '').matchAll(/-([a-z_]+)=(.*?)(?=-[a-z_]+=|$)/g),
        (match) => [match[1], match[2]])));
    const knobs = points.length > 1 ? Array.from(points[0].keys()) : [];
    if (knobs.length > 0 && points.every((point) => knobs.every((knob) => point.has(knob)))) {
        const chosen = new Map(points[0]);
        const box = document.createElement('p');
        const missing = document.createElement('output');
        const choose = () => {
            answers.forEach((answer, i) => {
                answer.hidden = !knobs.every((knob) => points[i].get(knob) === chosen.get(knob));
            });
            missing.textContent = answers.every((answer) => answer.hidden) ? 'not measured' : '';
        };
        knobs.forEach((knob) => {
            const values = Array.from(new Set(points.map((point) => point.get(knob))));
            const label = document.createElement('label');
            const slider = document.createElement('input');
            const value = document.createElement('output');
            slider.type = 'range';
            slider.max = values.length - 1;
            slider.value = 0;
            slider.addEventListener('input', () => {
                chosen.set(knob, values[slider.value]);
                value.textContent = values[slider.value];
                slider.setAttribute('aria-valuetext', values[slider.value]);
                choose();
            });
            value.textContent = values[0];
            label.append(knob + ' ', slider, ' ', value);
            box.append(label);
        });
        box.id = 'knobs';
        box.append(missing);
        answers[0].before(box);
        answers[0].after(...answers.slice(1));
        one('#others').closest('details').remove();
        choose();
    }

    /* --- parts of the page --- */

    const nav = one('header nav');
    all('main h2[id]').forEach((heading) => {
        const link = document.createElement('a');
        link.href = '#' + heading.id;
        link.textContent = heading.textContent;
        nav.append(link);
    });
    function unfold() {
        const target = document.getElementById(location.hash.slice(1));
        for (let at = target && target.closest('details'); at; at = at.parentElement.closest('details')) {
            at.open = true;
        }
        if (target) target.scrollIntoView();
    }
    window.addEventListener('hashchange', unfold);
    unfold();

    /* --- tables --- */

    /* Sort by a column, or reverse the order if it is sorted by that already. Rows without a figure
     * stay last. */
    function sortBy(th) {
        const body = th.closest('table').tBodies[0];
        const figures = th.classList.contains('figure');
        const falling = th.getAttribute('aria-sort') === 'ascending';
        const key = (row) => {
            const cell = row.cells[th.cellIndex];
            return figures ? parseFloat(cell.dataset.sort) : cell.textContent;
        };
        const order = (a, b) => {
            const left = key(a);
            const right = key(b);
            if (figures && (isNaN(left) || isNaN(right))) return isNaN(left) - isNaN(right);
            const rising = figures ? left - right : left.localeCompare(right);
            return falling ? -rising : rising;
        };
        all('th', th.parentNode).forEach((other) => other.removeAttribute('aria-sort'));
        th.setAttribute('aria-sort', falling ? 'descending' : 'ascending');
        body.append(...all('tr', body).sort(order));
    }
    all('thead button').forEach((button) => {
        button.addEventListener('click', () => sortBy(button.closest('th')));
    });
    all('thead button[title]').forEach((button) => {
        const help = button.title;
        button.removeAttribute('title');
        if (!help) return;
        button.setAttribute('aria-description', help);
        const show = () => {
            const box = button.getBoundingClientRect();
            showTip(help, box.left, box.bottom - 14);
        };
        button.addEventListener('mouseenter', show);
        button.addEventListener('focus', show);
        button.addEventListener('mouseleave', hideTip);
        button.addEventListener('blur', hideTip);
    });
    all('input[data-filters]').forEach((input) => {
        const rows = all('tbody tr', document.getElementById(input.dataset.filters));
        const said = input.closest('.filter').querySelector('output');
        const filter = () => {
            /* Every word has to occur. */
            const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
            let left = 0;
            rows.forEach((row) => {
                const text = row.textContent.toLowerCase();
                row.hidden = !words.every((word) => text.includes(word));
                left += row.hidden ? 0 : 1;
            });
            said.textContent = left + ' of ' + rows.length + ' rows';
        };
        input.closest('.filter').hidden = false;
        input.addEventListener('input', filter);
        filter();
    });

    /* --- pictures --- */

    /* The points of a picture that have a value: gnuplot wrote their texts as titles. */
    function pointsOf(svg) {
        return all('g.value', svg).map((group) => {
            const title = group.querySelector('title');
            if (title) {
                group.dataset.value = title.textContent;
                title.remove();
            }
            const at = /translate\(([-0-9.]+),([-0-9.]+)\)/.exec(
                group.querySelector('use').getAttribute('transform'));
            return { group: group, text: group.dataset.value, x: +at[1], y: +at[2] };
        });
    }
    function mark(points, point) {
        points.forEach((other) => other.group.classList.toggle('shown', other === point));
    }
    /* Where a point is on the screen. */
    function onScreen(svg, point) {
        const at = new DOMPoint(point.x, point.y).matrixTransform(svg.getScreenCTM());
        return { x: at.x, y: at.y };
    }
    /* The point nearest to the pointer, if one is near. */
    const NEAR_PIXELS = 60;
    function nearest(svg, points, x, y) {
        let best = null;
        let least = NEAR_PIXELS * NEAR_PIXELS;
        points.forEach((point) => {
            const at = onScreen(svg, point);
            const distance = (at.x - x) * (at.x - x) + (at.y - y) * (at.y - y);
            if (distance < least) {
                best = point;
                least = distance;
            }
        });
        return best;
    }
    /* Shows the value of the point nearest to the pointer; returns the points. */
    function showValues(svg) {
        const points = pointsOf(svg);
        svg.addEventListener('pointermove', (event) => {
            const point = nearest(svg, points, event.clientX, event.clientY);
            mark(points, point);
            if (point) {
                showTip(point.text, event.clientX, event.clientY);
            } else {
                hideTip();
            }
        });
        svg.addEventListener('pointerleave', () => {
            mark(points, null);
            hideTip();
        });
        return points;
    }

    /* A picture that is enlarged moves into the dialog, and back when that is closed. */
    const dialog = one('#enlarged');
    const frame = dialog.querySelector('.frame');
    const said = one('#value');
    let enlarged = null;
    function enlarge(picture) {
        if (dialog.open) return;
        enlarged = picture;
        picture.current = -1;
        picture.home.style.minHeight = picture.home.offsetHeight + 'px';
        frame.replaceChildren(picture.svg);
        one('#enlarged-title').textContent = picture.title;
        said.textContent = '';
        /* The rest of the page is below the dialog. */
        dialog.append(tip);
        dialog.showModal();
        frame.focus();
    }
    dialog.addEventListener('close', () => {
        document.body.append(tip);
        hideTip();
        mark(enlarged.points, null);
        enlarged.home.append(enlarged.svg);
        enlarged.home.style.minHeight = '';
    });
    one('#close').addEventListener('click', () => dialog.close());
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    frame.addEventListener('keydown', (event) => {
        const count = enlarged.points.length;
        if (!(event.key in steps) || count === 0) return;
        event.preventDefault();
        const from = enlarged.current < 0 && steps[event.key] < 0 ? 0 : enlarged.current;
        enlarged.current = (from + steps[event.key] + count) % count;
        const point = enlarged.points[enlarged.current];
        mark(enlarged.points, point);
        said.textContent = point.text;
        const at = onScreen(enlarged.svg, point);
        showTip(point.text, at.x, at.y);
    });

    all('main figure').forEach((figure) => {
        const svg = figure.querySelector('svg');
        const button = figure.querySelector('.enlarge');
        const picture = {
            svg: svg,
            home: svg.parentNode,
            title: figure.querySelector('figcaption b').textContent,
            points: showValues(svg),
            current: -1,
        };
        button.hidden = false;
        button.setAttribute('aria-label', 'Enlarge: ' + picture.title);
        button.addEventListener('click', () => enlarge(picture));
        svg.addEventListener('click', () => enlarge(picture));
    });

    /* A picture's data becomes a table when it is first looked at. */
    function fields(line) {
        const field = /(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g;
        return Array.from(line.matchAll(field), (match) =>
            match[1] !== undefined ? match[1].replace(/""/g, '"') : match[2]);
    }
    const ROWS_MAX = 2000;
    all('details.data').forEach((details) => {
        details.addEventListener('toggle', () => {
            const pre = details.querySelector('pre');
            const lines = pre ? pre.textContent.trim().split('\n') : [];
            if (!pre || lines.length > ROWS_MAX) return;
            const table = document.createElement('table');
            lines.forEach((line, i) => {
                const row = (i === 0 ? table.createTHead() : table.tBodies[0] || table.createTBody())
                    .insertRow();
                fields(line).forEach((text) => {
                    const cell = document.createElement(i === 0 ? 'th' : 'td');
                    if (i === 0) cell.scope = 'col';
                    cell.textContent = text;
                    row.append(cell);
                });
            });
            const scroll = document.createElement('div');
            scroll.className = 'scroll';
            scroll.tabIndex = 0;
            scroll.append(table);
            pre.replaceWith(scroll);
        });
    });
})();
