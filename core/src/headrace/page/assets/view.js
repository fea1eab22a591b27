// A canvas that is zoomed and moved by pointer, wheel, touch and keys, and drawn when it changed.
// World coordinates are scaled by (sx, sy) and moved by (tx, ty). `axes` says what zooms: "both"
// alike, or "x" alone. Subclass hooks: draw(context), hit(x, y), and what to do with what is hit.
class View {
  constructor(section, { axes = "both", label, world, draw, hit, hover, pick, pad }) {
    Object.assign(this, { section, axes, world, paint: draw, hit, hover, pick });
    this.pad = { left: 0, top: 0, right: 0, bottom: 0, ...pad };
    this.canvas = make("canvas", { tabIndex: 0, role: "application", "aria-label": label });
    this.context = this.canvas.getContext("2d");
    this.sx = this.sy = 1;
    this.tx = this.ty = 0;
    this.fitted = true;
    section.append(
      this.canvas,
      make("div", { className: "zoom" },
        make("button", { textContent: "−", title: "Zoom out (-)", onclick: () => this.zoom(1 / 1.4) }),
        make("button", { textContent: "+", title: "Zoom in (+)", onclick: () => this.zoom(1.4) }),
        make("button", { textContent: "Fit", title: "Show all (0)", onclick: () => this.fit() })),
    );
    this.listen();
    new ResizeObserver(() => this.resize()).observe(section);
  }

  listen() {
    const canvas = this.canvas;
    const down = new Map();
    let moved = 0;
    let spread = 0;
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      down.set(event.pointerId, at(event));
      moved = spread = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = at(event);
      const before = down.get(event.pointerId);
      if (!before) {
        this.point(x, y, event);
        return;
      }
      down.set(event.pointerId, [x, y]);
      if (down.size === 2) {
        const [a, b] = [...down.values()];
        const now = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (spread) this.zoom(now / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
        spread = now;
      } else {
        moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
        if (moved > 4) {
          canvas.className = "grabbing";
          this.move(x - before[0], y - before[1]);
        }
      }
    });
    const up = (event) => {
      if (!down.delete(event.pointerId)) return;
      canvas.className = "grab";
      if (moved <= 4 && event.type === "pointerup") this.pick(this.find(...at(event)));
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => { hideTip(); this.hover(null); });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const [x, y] = at(event);
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        this.move(-(event.deltaX || event.deltaY), 0);
      } else {
        this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), x, y);
      }
    }, { passive: false });
    canvas.addEventListener("dblclick", (event) => this.zoom(2, ...at(event)));
    canvas.addEventListener("keydown", (event) => {
      const step = 80;
      const action = {
        ArrowLeft: () => this.move(step, 0), ArrowRight: () => this.move(-step, 0),
        ArrowUp: () => this.move(0, step), ArrowDown: () => this.move(0, -step),
        "+": () => this.zoom(1.4), "=": () => this.zoom(1.4), "-": () => this.zoom(1 / 1.4),
        0: () => this.fit(),
      }[event.key];
      if (action && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        action();
      }
    });
    canvas.className = "grab";
  }

  find(x, y) {
    return this.hit((x - this.tx) / this.sx, (y - this.ty) / this.sy, x, y);
  }

  point(x, y, event) {
    const found = this.find(x, y);
    this.canvas.className = found ? "point" : "grab";
    this.hover(found, event);
  }

  move(dx, dy) {
    this.fitted = false;
    this.tx += dx;
    this.ty += dy;
    this.keep();
    this.redraw();
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    this.fitted = false;
    const sx = Math.min(this.most, Math.max(this.least, this.sx * factor));
    this.tx = x - ((x - this.tx) * sx) / this.sx;
    if (this.axes === "both") {
      this.ty = y - ((y - this.ty) * sx) / this.sx;
      this.sy = sx;
    }
    this.sx = sx;
    this.keep();
    this.redraw();
  }

  /** Keeps some of the world in sight. */
  keep() {
    const world = this.world();
    const inside = (t, size, from, to) => Math.min(to - 40, Math.max(from + 40 - size, t));
    this.tx = inside(this.tx, world.width * this.sx, this.pad.left, this.width - this.pad.right);
    if (this.axes === "x") {
      const room = this.height - this.pad.top - this.pad.bottom;
      const over = Math.max(0, world.height * this.sy - room);
      this.ty = Math.min(this.pad.top, Math.max(this.pad.top - over, this.ty));
    } else {
      this.ty = inside(this.ty, world.height * this.sy, this.pad.top, this.height - this.pad.bottom);
    }
  }

  fit() {
    this.fitted = true; // and stays so when the window changes, until somebody moves
    const world = this.world();
    const wide = Math.max(1, this.width - this.pad.left - this.pad.right);
    const high = Math.max(1, this.height - this.pad.top - this.pad.bottom);
    const whole = this.axes === "x"
      ? wide / Math.max(1, world.width)
      : Math.min(wide / Math.max(1, world.width), high / Math.max(1, world.height));
    this.least = Math.min(whole * 0.7, world.least ?? 1);
    this.most = world.most ?? 3;
    this.sx = Math.min(whole, world.full ?? 1.25);
    this.sy = this.axes === "both" ? this.sx : 1;
    this.tx = this.pad.left + Math.max(0, wide - world.width * this.sx) / 2 * (this.axes === "both");
    this.ty = this.axes === "both"
      ? this.pad.top + Math.max(0, high - world.height * this.sy) / 2
      : this.pad.top;
    this.redraw();
  }

  /** Shows a part of the x axis over the whole width. */
  span(from, to) {
    this.settle();
    this.fitted = false;
    const wide = this.width - this.pad.left - this.pad.right;
    this.sx = Math.min(this.most, Math.max(this.least, wide / Math.max(1, to - from)));
    this.tx = this.pad.left - from * this.sx;
    this.keep();
    this.redraw();
  }

  /** Brings a point of the world to the middle, near enough to be read. */
  centre(x, y, scale) {
    this.settle();
    this.fitted = false;
    this.sx = Math.min(this.most, Math.max(this.sx, scale));
    if (this.axes === "both") {
      this.sy = this.sx;
      this.ty = this.height / 2 - y * this.sy;
    }
    this.tx = this.width / 2 - x * this.sx;
    this.keep();
    this.redraw();
  }

  /** Takes the size of now, without waiting to be told: the panel may just have opened. */
  settle() {
    const { clientWidth, clientHeight } = this.section;
    if (clientWidth !== this.width || clientHeight !== this.height) this.resize();
  }

  resize() {
    const { clientWidth, clientHeight } = this.section;
    if (!clientWidth || !clientHeight) return;
    const ratio = window.devicePixelRatio || 1;
    this.width = clientWidth;
    this.height = clientHeight;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    this.ratio = ratio;
    if (this.fitted) this.fit();
    else this.keep();
    this.draw(); // at once: a canvas that was resized is empty
  }

  redraw() {
    if (this.pending || !this.width) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.draw();
    });
  }

  draw() {
    if (!this.width || this.section.hidden) return;
    const context = this.context;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = `12px ${colours.sans}`;
    context.textBaseline = "middle";
    context.textAlign = "left";
    this.paint(context);
  }
}
