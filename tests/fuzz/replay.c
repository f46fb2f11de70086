/* Runs a fuzz target over files and folders without libFuzzer, so that the corpus is a test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t replayed;

/* false when path is no readable file. */
static int replay_file(const char *path)
{
    uint8_t *data = NULL;
    size_t size = 0, room = 0, n = 1;
    FILE *file = fopen(path, "rb");

    if (!file)
        return 0;
    while (n) {
        if (size == room) {
            room = room ? 2 * room : 65536;
            data = realloc(data, room);
            if (!data)
                abort();
        }
        n = fread(data + size, 1, room - size, file);
        size += n;
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    replayed++;
    return 1;
}

static void replay_folder(const char *path, DIR *folder)
{
    const struct dirent *entry;
    char name[4096];

    while ((entry = readdir(folder))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        replay_file(name);
    }
    closedir(folder);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);

        if (folder) {
            replay_folder(argv[i], folder);
        } else if (!replay_file(argv[i])) {
            perror(argv[i]);
            return 1;
        }
    }
    printf("%zu inputs replayed\n", replayed);
    return replayed ? 0 : 1;
}
