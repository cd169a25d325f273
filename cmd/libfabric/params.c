//go:build linux

// Parameters and the log, as external providers use them (fi_provider(3)). Values are the environment's
// FI_<PROVIDER>_<NAME>.
#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "_cgo_export.h"
#include "fork.h"
#include "gf.h"

#define FI_ENOENT 2
#define FI_ENOMEM 12
#define FI_ENODATA 61
#define DEFAULT(alias, name, version) __asm__(".symver " #alias ", " #name "@@" #version)

enum { PARAM_STRING, PARAM_INT, PARAM_BOOL, PARAM_SIZE_T };

// The beginning of struct fi_provider.
struct provider {
	uint32_t version, fi_version;
	void *context[4];
	const char *name;
};

struct param {
	struct param *next;
	char *name; // FI_<PROVIDER>_<NAME>
	char *help;
	int type;
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct param *params;

static char *full_name(const struct fi_provider *provider, const char *name)
{
	const char *prov = provider ? ((const struct provider *)provider)->name : NULL;
	size_t size = strlen(name) + (prov ? strlen(prov) : 0) + 5;
	char *s = malloc(size);
	if (!s)
		return NULL;
	snprintf(s, size, "FI_%s%s%s", prov ? prov : "", prov ? "_" : "", name);
	for (char *c = s; *c; c++)
		*c = *c == ';' || *c == '-' ? '_' : toupper((unsigned char)*c);
	return s;
}

int gf_param_define(const struct fi_provider *provider, const char *name, int type, const char *help, ...)
{
	char text[1024];
	va_list args;
	if (!name || type < PARAM_STRING || type > PARAM_SIZE_T)
		return -FI_EINVAL;
	va_start(args, help);
	vsnprintf(text, sizeof text, help ? help : "", args);
	va_end(args);
	struct param *p = calloc(1, sizeof *p);
	if (!p)
		return -FI_ENOMEM;
	p->name = full_name(provider, name);
	p->help = strdup(text);
	p->type = type;
	if (!p->name || !p->help) {
		free(p->name);
		free(p->help);
		free(p);
		return -FI_ENOMEM;
	}
	pthread_mutex_lock(&guard);
	p->next = params;
	params = p;
	pthread_mutex_unlock(&guard);
	return 0;
}
DEFAULT(gf_param_define, fi_param_define, FABRIC_1.0);

static int parse_bool(const char *s, int *out)
{
	static const char *const yes[] = {"1", "true", "yes", "on"}, *const no[] = {"0", "false", "no", "off"};
	for (int i = 0; i < 4; i++) {
		if (!strcasecmp(s, yes[i]))
			return *out = 1, 0;
		if (!strcasecmp(s, no[i]))
			return *out = 0, 0;
	}
	return -FI_EINVAL;
}

int gf_param_get(struct fi_provider *provider, const char *name, void *value)
{
	if (!name || !value)
		return -FI_EINVAL;
	char *full = full_name(provider, name);
	if (!full)
		return -FI_ENOMEM;
	int type = -1;
	pthread_mutex_lock(&guard);
	for (struct param *p = params; p; p = p->next)
		if (!strcmp(p->name, full))
			type = p->type;
	pthread_mutex_unlock(&guard);
	char *s = getenv(full), *end = NULL;
	free(full);
	if (type < 0)
		return -FI_ENOENT;
	if (!s)
		return -FI_ENODATA;
	switch (type) {
	case PARAM_STRING: *(char **)value = s; return 0;
	case PARAM_BOOL: return parse_bool(s, value);
	case PARAM_INT: *(int *)value = strtol(s, &end, 0); break;
	default: *(size_t *)value = strtoull(s, &end, 0);
	}
	return end == s || *end ? -FI_EINVAL : 0;
}
DEFAULT(gf_param_get, fi_param_get, FABRIC_1.0);

int gf_getparams(struct fi_param **out, int *count)
{
	GF_CHILD(int, -FI_EOPBADSTATE, "fi_getparams", "FABRIC_1.0", (struct fi_param **, int *), (out, count));
	if (!out || !count)
		return -FI_EINVAL;
	int extra = 0;
	pthread_mutex_lock(&guard);
	for (struct param *p = params; p; p = p->next)
		extra++;
	gf_enter();
	int rc = goGetParams(extra, out, count);
	if (!rc)
		for (struct param *p = params; p; p = p->next) {
			char *v = getenv(p->name);
			(*out)[(*count)++] = (struct fi_param){strdup(p->name), p->type, strdup(p->help), v ? strdup(v) : NULL};
		}
	pthread_mutex_unlock(&guard);
	return rc;
}
DEFAULT(gf_getparams, fi_getparams, FABRIC_1.0);

// fi_freeparams frees the array of fi_getparams, which ends with an entry without a name.
void gf_freeparams(struct fi_param *list)
{
	for (struct fi_param *p = list; p && p->name; p++) {
		free((void *)p->name);
		free((void *)p->help_string);
		free((void *)p->value);
	}
	free(list);
}
DEFAULT(gf_freeparams, fi_freeparams, FABRIC_1.0);

// The log of external providers goes to standard error, up to the level of FI_LOG_LEVEL.
int gf_log_enabled(const struct fi_provider *provider, int level, int subsys)
{
	static const char *const names[] = {"warn", "trace", "info", "debug"};
	const char *s = getenv("FI_LOG_LEVEL");
	for (int i = 0; s && i < 4; i++)
		if (!strcasecmp(s, names[i]))
			return level <= i;
	return 0;
}
DEFAULT(gf_log_enabled, fi_log_enabled, FABRIC_1.0);

int gf_log_ready(const struct fi_provider *provider, int level, int subsys, uint64_t *showtime) { return gf_log_enabled(provider, level, subsys); }
DEFAULT(gf_log_ready, fi_log_ready, FABRIC_1.6);

void gf_log(const struct fi_provider *provider, int level, int subsys, const char *func, int line, const char *format, ...)
{
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	fprintf(stderr, "libfabric:%s:%s():%d %s", provider ? ((const struct provider *)provider)->name : "core", func, line, text);
}
DEFAULT(gf_log, fi_log, FABRIC_1.0);
