// Numbers as people read them.

// short formats a number with three digits.
export function short(n) {
  if (!Number.isFinite(n) || n === 0) return "0";
  const digits = Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(Math.abs(n)))));
  return String(Number(n.toFixed(digits)));
}

const scaled = (units, step) => (n) => {
  let i = 0;
  while (n >= step && i < units.length - 1) {
    n /= step;
    i++;
  }
  return `${short(n)} ${units[i]}`.trim();
};

export const bits = scaled(["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"], 1000);
export const bytes = scaled(["B", "KiB", "MiB", "GiB", "TiB"], 1024);
export const many = scaled(["", "k", "M", "G", "T"], 1000);

// count formats an integer with separated thousands.
export const count = (n) => Number(n).toLocaleString("en");

export const percent = (p) => `${short(p * 100)} %`;

// seconds formats a duration, from nanoseconds to days.
export function seconds(s) {
  if (s < 0) s = 0;
  if (s >= 172800) return `${Math.floor(s / 86400)} d`;
  if (s >= 7200) return `${Math.floor(s / 3600)} h`;
  if (s >= 120) return `${Math.floor(s / 60)} min`;
  if (s >= 1) return `${s >= 10 ? Math.floor(s) : short(s)} s`;
  if (s >= 1e-3) return `${short(s * 1e3)} ms`;
  return s === 0 ? "0 s" : `${short(s * 1e6)} µs`;
}

// ago formats the time since a date of the API.
export const ago = (date) => seconds((Date.now() - Date.parse(date)) / 1000);

// until formats the time left, "for good" without a date.
export const until = (date) => (date ? seconds((Date.parse(date) - Date.now()) / 1000) : "for good");
