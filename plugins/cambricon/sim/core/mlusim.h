/* What the stand-in exports besides the vendor's names. Exported by libcndrv.so; no real library
 * has a symbol with this prefix, which is also how to tell that one has loaded the stand-in. Every
 * function may be called from any thread at any time, also before cnrtInit. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 4, 5 or 6. */
int mlusim_era(void);

/* The number of an enumerator by its full vendor name. Where no vendor header is known to have
 * shown the number, the stand-in has one of its own, different for each MLUSIM_SEED. Returns 0, or
 * -1 when the name is unknown. Needs libcnnl.so for its names. */
int mlusim_enum(const char* name, int* value);

/* Reports, each a line `call: [kind] message`. mlusim_report copies as snprintf does and returns
 * the length without the terminator, or -1 when there is none with this index. */
size_t mlusim_report_count(void);
long mlusim_report(size_t index, char* buffer, size_t capacity);
void mlusim_clear_reports(void);

/* Live objects of a kind, in the words of the reports ("queue", "tensor descriptor"), or "card
 * memory" and "page-locked memory" for blocks. */
size_t mlusim_live(const char* kind);
/* Reports, now, everything that is alive, as the end of the process does. Returns the number of
 * lines. */
size_t mlusim_check_leaks(void);

/* Holds a queue (NULL: the default one of card 0) before its next task, until it is resumed or
 * somebody waits for it. Returns 0, or -1 when it is no queue. */
int mlusim_pause(void* queue);
int mlusim_resume(void* queue);

/* Waits until every queue has run what it has, without anybody having synchronised: what is then
 * done by luck is still misuse. Ends all pauses. Returns 0. */
int mlusim_drain(void);

/* The nth call (1: the next) of a vendor function fails once with a status that a card could give,
 * without doing anything. `fault` is one of "memory", "host-memory", "device", "system", "queue".
 * Returns 0, or -1 for an unknown fault. */
int mlusim_fail(const char* call, uint64_t nth, const char* fault);
/* The nth task that this vendor function enqueues from now on fails when it runs. Returns 0, or -1.
 */
int mlusim_fail_task(const char* call, uint64_t nth);

#ifdef __cplusplus
}
#endif
